#include "data/token_format.h"

namespace caravan::data {

std::string_view to_string(TokenFormat format) {
  return format == TokenFormat::kLlmC ? "llm.c" : "Megatron";
}

std::string_view to_string(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
      return "uint8";
    case TokenType::kInt8:
      return "int8";
    case TokenType::kUint16:
      return "uint16";
    case TokenType::kInt16:
      return "int16";
    case TokenType::kUint32:
      return "uint32";
    case TokenType::kInt32:
      return "int32";
    case TokenType::kInt64:
      return "int64";
  }
  return "unknown";
}

int64_t bytes_per_token(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
    case TokenType::kInt8:
      return 1;
    case TokenType::kUint16:
    case TokenType::kInt16:
      return 2;
    case TokenType::kUint32:
    case TokenType::kInt32:
      return 4;
    case TokenType::kInt64:
      return 8;
  }
  return 0;
}

}  // namespace caravan::data
