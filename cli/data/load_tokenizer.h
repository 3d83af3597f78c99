// The tokenizer that a user names, with its tokens around a text.
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
  std::optional<uint32_t> begin_of_text = std::nullopt;
  std::optional<uint32_t> end_of_text = std::nullopt;
};

// name: "byte", a tokenizer.json, or a folder with one. end_of_text: a token's name, "none", or empty: what
// the tokenizer says (end_of_text.h). begin_of_text: a token's name, or "none". Errors (exit code 2) name the
// file or the option.
Result<LoadedTokenizer> load_tokenizer(const std::string& name, const std::string& end_of_text,
                                       const std::string& begin_of_text = "none");

}  // namespace caravan::cli
