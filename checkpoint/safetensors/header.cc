#include "checkpoint/safetensors/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>

#include "checkpoint/safetensors/header_reader.h"
#include "common/json.h"

namespace caravan::checkpoint {
namespace {

constexpr std::size_t kDeepest = 3;  // an object of objects with lists
constexpr int64_t kAlignment = 8;

Status check_tensor(const TensorEntry& tensor, int64_t expected_begin) {
  const auto wrong = [&](const std::string& what) {
    return bad_input(fmt::format("tensor '{}': {}", tensor.name, what));
  };
  if (tensor.begin != expected_begin) {
    return wrong(fmt::format("begins at byte {}, the tensor before ends at {}; tensors must fill the file",
                             tensor.begin, expected_begin));
  }
  const Result<int64_t> bytes = tensor_bytes(tensor.type, tensor.shape);
  if (!bytes) return wrong(bytes.error().message);
  if (tensor.end - tensor.begin != *bytes) {
    return wrong(fmt::format("data_offsets [{}, {}] are no {} bytes, which {} [{}] takes", tensor.begin,
                             tensor.end, *bytes, element_type_name(tensor.type),
                             fmt::join(tensor.shape, ", ")));
  }
  return {};
}

}  // namespace

Result<int64_t> tensor_bytes(ElementType type, std::span<const int64_t> shape) {
  int64_t bytes = element_bytes(type);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      return bad_input(fmt::format("shape [{}] is larger than any file", fmt::join(shape, ", ")));
  }
  return bytes;
}

Result<int64_t> header_text_length(std::span<const std::byte> first_bytes, int64_t file_length) {
  if (std::ssize(first_bytes) < kHeaderLengthBytes)
    return bad_input("too short for a safetensors file: its first eight bytes give the header's length");
  uint64_t length = 0;
  for (std::size_t i = kHeaderLengthBytes; i-- > 0;)
    length = length << 8 | static_cast<uint64_t>(first_bytes[i]);
  const auto most = static_cast<uint64_t>(std::min(kLongestHeader, file_length - kHeaderLengthBytes));
  if (length > most) {
    return bad_input(fmt::format(
        "no safetensors file: its header would have {} bytes, there may be {} at most", length, most));
  }
  return static_cast<int64_t>(length);
}

Result<Header> parse_header(std::string_view text, int64_t data_bytes) {
  boost::json::parse_options options;
  options.max_depth = kDeepest;
  boost::json::basic_parser<HeaderReader> parser(options);
  boost::json::error_code error;
  const std::size_t parsed = parser.write_some(false, text.data(), text.size(), error);
  if (error) {
    const std::string& refusal = parser.handler().refusal();
    return bad_input(refusal.empty() ? fmt::format("header: {}", error.message()) : "header: " + refusal);
  }
  if (text.substr(parsed).find_first_not_of(' ') != std::string_view::npos)
    return bad_input("header: something stands behind its end");

  Header header = parser.handler().take();
  std::ranges::stable_sort(header.tensors, {},
                           [](const TensorEntry& tensor) { return std::pair(tensor.begin, tensor.end); });
  int64_t end = 0;
  for (const TensorEntry& tensor : header.tensors) {
    if (Status right = check_tensor(tensor, end); !right)
      return bad_input("header: " + right.error().message);
    end = tensor.end;
  }
  if (end != data_bytes) {
    return bad_input(
        fmt::format("header: its tensors end at byte {} of the data, the file has {}", end, data_bytes));
  }
  return header;
}

std::string header_bytes(const Header& header) {
  std::vector<std::string> entries;
  if (!header.metadata.empty()) {
    std::vector<std::string> texts;
    for (const auto& [key, text] : header.metadata)
      texts.push_back(fmt::format("{}:{}", json_string(key), json_string(text)));
    entries.push_back(fmt::format(R"("__metadata__":{{{}}})", fmt::join(texts, ",")));
  }
  for (const TensorEntry& tensor : header.tensors) {
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(tensor.name), element_type_name(tensor.type),
                                  fmt::join(tensor.shape, ","), tensor.begin, tensor.end));
  }
  std::string text = fmt::format("{{{}}}", fmt::join(entries, ","));
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string bytes;
  for (int i = 0; i < kHeaderLengthBytes; ++i)
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i)));
  return bytes + text;
}

}  // namespace caravan::checkpoint
