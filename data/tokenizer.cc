#include "data/tokenizer.h"

#include <fmt/format.h>

namespace caravan::data {

Result<std::vector<Token>> ByteTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    tokens[i] = {.id = static_cast<uint8_t>(text[i]), .begin = static_cast<int64_t>(i)};
  }
  return tokens;
}

Result<std::string> ByteTokenizer::decode(std::span<const uint32_t> ids) const {
  std::string text;
  for (const uint32_t id : ids) {
    if (id >= vocabulary()) return bad_input(fmt::format("token {} is no byte", id));
    text.push_back(static_cast<char>(id));
  }
  return text;
}

}  // namespace caravan::data
