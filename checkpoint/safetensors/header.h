// The head of a safetensors file: which tensors it holds, and where.
//
//   u64 little endian: length of the text; the text, {"NAME": {"dtype": "F32", "shape": [2, 3],
//   "data_offsets": [begin, end]}, ..., "__metadata__": {"KEY": "TEXT"}}; then the tensors, row by row.
//   https://github.com/huggingface/safetensors#format
//
// Reading believes nothing: the text is at most 100 MB, keys come once, sizes do not overflow, and tensors
// fill the rest of the file without holes or overlaps, as the format's own library asks. Errors are bad
// input and say which tensor is wrong; the caller names the file. Pure; memory in proportion to the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors/element_type.h"
#include "common/result.h"

namespace caravan::checkpoint {

inline constexpr int64_t kLongestHeader = 100'000'000;
inline constexpr int64_t kHeaderLengthBytes = 8;
inline constexpr std::size_t kMostDimensions = 16;

struct TensorEntry {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // bytes, from the end of the header
  int64_t end = 0;
  bool operator==(const TensorEntry&) const = default;
};

struct Header {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  bool operator==(const Header&) const = default;
};

// Bytes of a tensor; an error when they are more than a file can have.
Result<int64_t> tensor_bytes(ElementType type, std::span<const int64_t> shape);

// The length of the text, from the first eight bytes of a file of that length.
Result<int64_t> header_text_length(std::span<const std::byte> first_bytes, int64_t file_length);

// text: what follows these bytes; data_bytes: what the file holds after it.
Result<Header> parse_header(std::string_view text, int64_t data_bytes);

// With its length in front, padded so that the tensors begin at a multiple of eight bytes.
std::string header_bytes(const Header& header);

}  // namespace caravan::checkpoint
