// Token files for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caravan::data {

// The little-endian bytes of numbers.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// An llm.c file whose header words may lie.
struct LlmCFile {
  uint32_t magic = 20240520;
  uint32_t version = 1;
  uint32_t tokens_low = 0;
  uint32_t tokens_high = 0;
  std::string payload;
  std::string bytes() const;
};
LlmCFile llm_c_file(const std::vector<uint16_t>& tokens);
LlmCFile llm_c_file(const std::vector<uint32_t>& tokens);

// A Megatron index whose fields may lie.
struct MegatronIndex {
  std::string magic{"MMIDIDX\0\0", 9};
  uint64_t version = 1;
  uint8_t type = 0;
  uint64_t sequences = 0;
  uint64_t document_entries = 0;
  std::vector<int32_t> lengths;
  std::vector<int64_t> positions;
  std::vector<int64_t> documents;
  std::string bytes() const;
};
// One document per sequence, tokens of `width` bytes and the given type code, one sequence after another.
MegatronIndex megatron_index(uint8_t type, int64_t width, const std::vector<int32_t>& lengths);

}  // namespace caravan::data
