#include "data/llm_c_format.h"

#include <fmt/format.h>

#include <span>

namespace caravan::data {
namespace {

struct Variant {
  uint32_t magic;
  uint32_t version;
  TokenType type;
};
constexpr Variant kVariants[] = {{20240520, 1, TokenType::kUint16}, {20240801, 7, TokenType::kUint32}};

const Variant* variant_of(uint32_t magic) {
  for (const Variant& variant : kVariants) {
    if (variant.magic == magic) return &variant;
  }
  return nullptr;
}

Status check_size(const InputFile& file, uint64_t tokens, TokenType type) {
  const auto width = static_cast<uint64_t>(bytes_per_token(type));
  const auto payload = static_cast<uint64_t>(file.size() - kLlmCHeaderBytes);
  if (tokens == payload / width && payload % width == 0) {
    return tokens > 0
               ? Status{}
               : bad_input(fmt::format("{}: holds no tokens; tokenize some text into it", file.path()));
  }
  const char* verdict = tokens > payload / width ? "truncated" : "longer than its header says";
  return bad_input(
      fmt::format("{}: {}: the header says {} tokens of {} bytes, but {} bytes follow it; copy or tokenize "
                  "the file again",
                  file.path(), verdict, tokens, width, payload));
}

}  // namespace

LlmCHeader llm_c_header(TokenType type, uint64_t tokens) {
  const Variant& variant = kVariants[type == TokenType::kUint16 ? 0 : 1];
  LlmCHeader header{};
  header[0] = variant.magic;
  header[1] = variant.version;
  header[2] = static_cast<uint32_t>(tokens);
  header[3] = static_cast<uint32_t>(tokens >> 32);
  return header;
}

Result<bool> has_llm_c_magic(const InputFile& file) {
  uint32_t magic = 0;
  if (file.size() < static_cast<int64_t>(sizeof magic)) return false;
  if (Status read = file.read(0, std::as_writable_bytes(std::span(&magic, 1))); !read) {
    return tl::unexpected(read.error());
  }
  return variant_of(magic) != nullptr;
}

Result<TokenLayout> read_llm_c_header(const InputFile& file) {
  if (file.size() < kLlmCHeaderBytes) {
    return bad_input(fmt::format(
        "{}: truncated: {} bytes, but the header of llm.c alone has {}; copy or tokenize the file "
        "again",
        file.path(), file.size(), kLlmCHeaderBytes));
  }
  LlmCHeader header{};
  if (Status read = file.read(0, std::as_writable_bytes(std::span(header))); !read) {
    return tl::unexpected(read.error());
  }
  const Variant* variant = variant_of(header[0]);
  if (variant == nullptr || header[1] != variant->version) {
    return bad_input(
        fmt::format("{}: the llm.c header has magic {} and version {}, expected 20240520 and 1 (uint16) or "
                    "20240801 and 7 (uint32); tokenize the text again",
                    file.path(), header[0], header[1]));
  }
  const uint64_t tokens = header[2] | uint64_t{header[3]} << 32;
  if (Status size = check_size(file, tokens, variant->type); !size) return tl::unexpected(size.error());
  return TokenLayout{.format = TokenFormat::kLlmC,
                     .type = variant->type,
                     .offset = kLlmCHeaderBytes,
                     .tokens = static_cast<int64_t>(tokens),
                     .documents = std::nullopt};
}

}  // namespace caravan::data
