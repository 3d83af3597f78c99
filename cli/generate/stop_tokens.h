// Which tokens end the text that a model makes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "data/tokenizer.h"

namespace caravan::cli {

// named: names of tokens, or "none" alone; where there are none, what the model's folder says; where it says
// nothing, those special tokens of the tokenizer that end texts by their well-known names, or else the one
// that its configuration names. Errors (exit code 2) name the token that is none.
Result<std::vector<int64_t>> stop_tokens(const std::vector<std::string>& named,
                                         const std::vector<int64_t>& of_folder,
                                         const data::Tokenizer& tokenizer);

}  // namespace caravan::cli
