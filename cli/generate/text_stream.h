// Text out of tokens as they come, in whole characters: a character may be made of several tokens, and what a
// token stands for may depend on those before it.
//
// Emits a piece as soon as it ends with a whole character; bytes that never become one are U+FFFD. Output is
// UTF-8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "data/tokenizer.h"

namespace caravan::cli {

class TextStream {
 public:
  // prompt: the tokens before the first one that comes. tokenizer outlives the stream.
  TextStream(const data::Tokenizer& tokenizer, std::span<const uint32_t> prompt);

  // What can be shown now; often nothing.
  Result<std::string> add(uint32_t token);
  // What was held back for a character that has not become whole.
  Result<std::string> finish();

 private:
  Result<std::string> new_text() const;
  std::string take(const std::string& text);

  const data::Tokenizer& tokenizer_;
  std::vector<uint32_t> ids_;        // as many as the next ones depend on
  std::vector<std::size_t> pieces_;  // where among them those begin that were shown
  std::size_t shown_ = 0;            // of these tokens
};

}  // namespace caravan::cli
