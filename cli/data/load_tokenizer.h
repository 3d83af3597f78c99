// The tokenizer that a user names, with its token for the end of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "data/tokenizer.h"

namespace caravan::cli {

struct LoadedTokenizer {
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::optional<uint32_t> end_of_text;
};

// name: "byte", a tokenizer.json, or a folder with one. end_of_text: a token's name, "none", or empty: one of
// the well-known names, if the tokenizer has it, or else what the tokenizer_config.json beside it calls
// eos_token. Errors (exit code 2) name the file or the option.
Result<LoadedTokenizer> load_tokenizer(const std::string& name, const std::string& end_of_text);

}  // namespace caravan::cli
