// The text of a safetensors header as it is parsed: a handler of JSON's events that takes nothing else than
// what the format has, so that a long text of anything else costs no memory.
#pragma once

#include <boost/json/error.hpp>
#include <boost/json/string_view.hpp>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "checkpoint/safetensors/header.h"

namespace caravan::checkpoint {

class HeaderReader {
 public:
  static constexpr std::size_t max_array_size = kMostDimensions;
  static constexpr std::size_t max_object_size = 10'000'000;
  static constexpr std::size_t max_key_size = 4096;
  static constexpr std::size_t max_string_size = kLongestHeader;

  using ErrorCode = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_object_begin(ErrorCode& error);
  bool on_object_end(std::size_t, ErrorCode& error);
  bool on_array_begin(ErrorCode& error);
  bool on_array_end(std::size_t count, ErrorCode& error);
  bool on_key_part(Text part, std::size_t, ErrorCode&) { return append(part); }
  bool on_key(Text rest, std::size_t, ErrorCode& error);
  bool on_string_part(Text part, std::size_t, ErrorCode&) { return append(part); }
  bool on_string(Text rest, std::size_t, ErrorCode& error);
  bool on_number_part(Text, ErrorCode&) { return true; }
  bool on_int64(std::int64_t number, Text, ErrorCode& error);
  bool on_uint64(std::uint64_t, Text, ErrorCode& error) { return refuse(error, "a number is above 2^63"); }
  bool on_double(double, Text, ErrorCode& error) { return refuse(error, "a size is no whole number"); }
  bool on_bool(bool, ErrorCode& error) { return refuse(error, "true and false have no meaning here"); }
  bool on_null(ErrorCode& error) { return refuse(error, "null has no meaning here"); }
  bool on_comment_part(Text, ErrorCode&) { return true; }
  bool on_comment(Text, ErrorCode&) { return true; }

  // When everything was read: what it was, with tensors in the order of the text.
  Header take() { return std::move(header_); }
  // What was wrong with it, if this handler said so; where in the text it stands, in words.
  const std::string& refusal() const { return refusal_; }

 private:
  enum class Place { Nowhere, Names, Metadata, Tensor, Shape, Offsets };
  enum Field : unsigned { kType = 1, kShape = 2, kOffsets = 4, kAll = 7 };

  bool append(Text part);
  std::string take_text(Text rest);
  bool begin_field(const std::string& key, ErrorCode& error);
  bool refuse(ErrorCode& error, const std::string& what);

  Header header_;
  std::set<std::string> names_;
  Place place_ = Place::Nowhere;
  std::string text_;  // of a key or string whose end is not there yet
  std::string key_;   // of the metadata, or the field of a tensor
  unsigned fields_ = 0;
  std::vector<int64_t> offsets_;
  std::string refusal_;
};

}  // namespace caravan::checkpoint
