// Token files of llm.c: 256 little-endian 32-bit words of header, then the tokens.
//
//   word 0 magic, word 1 version: 20240520, 1 for uint16 tokens; 20240801, 7 for uint32 tokens
//   words 2 and 3: number of tokens, 64 bits. llm.c itself knows word 2 only and leaves the others zero, so
//   its files and ours are the same up to 2³² tokens; beyond that llm.c refuses ours.
#pragma once

#include <array>
#include <cstdint>

#include "common/result.h"
#include "data/input_file.h"
#include "data/token_format.h"

namespace caravan::data {

constexpr int64_t kLlmCHeaderBytes = 1024;
using LlmCHeader = std::array<uint32_t, kLlmCHeaderBytes / sizeof(uint32_t)>;

// type: kUint16 or kUint32.
LlmCHeader llm_c_header(TokenType type, uint64_t tokens);

// Whether the file begins with one of the two magic numbers.
Result<bool> has_llm_c_magic(const InputFile& file);

// Checks every field against the file's size. Assumes has_llm_c_magic.
Result<TokenLayout> read_llm_c_header(const InputFile& file);

}  // namespace caravan::data
