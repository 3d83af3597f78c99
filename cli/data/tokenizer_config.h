// The tokenizer_config.json of Hugging Face beside a tokenizer, which names tokens by what they are for.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::cli {

// folder/tokenizer_config.json of folder/tokenizer.json.
std::string tokenizer_config_of(const std::string& tokenizer);

// The name of the token that ends a text; empty where the configuration, which need not be there, has none.
// Errors name the file (exit code 2).
Result<std::string> configured_eos_token(const std::string& config);

}  // namespace caravan::cli
