// Any bytes as a whole safetensors file: an error has a message, what is taken lies in the file without
// overlaps, and is read again as it was written.
#include <cstddef>
#include <cstdint>
#include <span>

#include "checkpoint/safetensors/header.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caravan::checkpoint;
  using caravan::fuzz::require;
  const std::string_view file = caravan::fuzz::text_of(data, size);
  const auto length = header_text_length(std::as_bytes(std::span(file)), static_cast<std::int64_t>(size));
  if (!length) {
    require(!length.error().message.empty(), "an error without a message", file);
    return 0;
  }
  const auto after = static_cast<std::int64_t>(size) - kHeaderLengthBytes - *length;
  require(after >= 0, "the header is longer than the file", file);
  const auto text = file.substr(kHeaderLengthBytes, static_cast<std::size_t>(*length));
  const auto header = parse_header(text, after);
  if (!header) {
    require(!header.error().message.empty(), "an error without a message", file);
    return 0;
  }
  std::int64_t end = 0;
  for (const TensorEntry& tensor : header->tensors) {
    require(tensor.begin == end && tensor.end >= tensor.begin, "tensors overlap or leave a hole", file);
    end = tensor.end;
  }
  require(end == after, "tensors do not fill the file", file);
  const std::string again = header_bytes(*header);
  const auto read = parse_header(std::string_view(again).substr(kHeaderLengthBytes), after);
  require(read && *read == *header, "it is read otherwise than it was written", file);
  return 0;
}
