#include "data/tokenizer.h"

namespace caravan::data {

Result<std::vector<Token>> ByteTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    tokens[i] = {.id = static_cast<uint8_t>(text[i]), .begin = static_cast<int64_t>(i)};
  }
  return tokens;
}

}  // namespace caravan::data
