// What the header of a token file says: where the tokens stand and how they are stored. All formats are
// little-endian.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace caravan::data {

static_assert(std::endian::native == std::endian::little,
              "token files are read and written in host byte order");

enum class TokenFormat { kLlmC, kMegatron };
enum class TokenType { kUint8, kInt8, kUint16, kInt16, kUint32, kInt32, kInt64 };

struct TokenLayout {
  TokenFormat format{};
  TokenType type{};
  int64_t offset = 0;                // of the first token, in bytes
  int64_t tokens = 0;                // at least 1
  std::optional<int64_t> documents;  // llm.c does not record them
};

std::string_view to_string(TokenFormat format);
std::string_view to_string(TokenType type);
int64_t bytes_per_token(TokenType type);

}  // namespace caravan::data
