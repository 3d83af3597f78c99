#include "checkpoint/safetensors/header_reader.h"

#include <fmt/format.h>

#include <utility>

namespace caravan::checkpoint {
namespace {

constexpr const char* kMetadata = "__metadata__";

}  // namespace

bool HeaderReader::append(Text part) {
  text_.append(part.data(), part.size());
  return true;
}

std::string HeaderReader::take_text(Text rest) {
  append(rest);
  return std::exchange(text_, {});
}

bool HeaderReader::refuse(ErrorCode& error, const std::string& what) {
  const bool in_tensor = place_ != Place::Nowhere && place_ != Place::Names && place_ != Place::Metadata;
  refusal_ = in_tensor ? fmt::format("tensor '{}': {}", header_.tensors.back().name, what) : what;
  error = boost::json::error::syntax;
  return false;
}

bool HeaderReader::on_object_begin(ErrorCode& error) {
  if (place_ == Place::Nowhere) {
    place_ = Place::Names;
    return true;
  }
  if (place_ != Place::Names) return refuse(error, "an object stands where a value belongs");
  if (key_ == kMetadata) {
    place_ = Place::Metadata;
    return true;
  }
  header_.tensors.push_back({.name = key_, .shape = {}});
  place_ = Place::Tensor;
  fields_ = 0;
  return true;
}

bool HeaderReader::on_object_end(std::size_t, ErrorCode& error) {
  if (place_ == Place::Tensor && fields_ != kAll)
    return refuse(error, "dtype, shape and data_offsets must all be there");
  place_ = place_ == Place::Names ? Place::Nowhere : Place::Names;
  return true;
}

bool HeaderReader::on_array_begin(ErrorCode& error) {
  if (place_ == Place::Tensor && key_ == "shape") {
    place_ = Place::Shape;
  } else if (place_ == Place::Tensor && key_ == "data_offsets") {
    place_ = Place::Offsets;
    offsets_.clear();
  } else {
    return refuse(error, "a list stands where none belongs");
  }
  return true;
}

bool HeaderReader::on_array_end(std::size_t, ErrorCode& error) {
  if (place_ == Place::Offsets) {
    if (offsets_.size() != 2) return refuse(error, "data_offsets must be two numbers");
    header_.tensors.back().begin = offsets_[0];
    header_.tensors.back().end = offsets_[1];
  }
  place_ = Place::Tensor;
  return true;
}

bool HeaderReader::on_key(Text rest, std::size_t, ErrorCode& error) {
  key_ = take_text(rest);
  if (place_ == Place::Tensor) return begin_field(key_, error);
  if (place_ == Place::Metadata) {
    if (header_.metadata.contains(key_))
      return refuse(error, fmt::format("{}: '{}' stands there twice", kMetadata, key_));
    return true;
  }
  if (!names_.insert(key_).second) return refuse(error, fmt::format("'{}' stands there twice", key_));
  return true;
}

bool HeaderReader::begin_field(const std::string& key, ErrorCode& error) {
  unsigned field = 0;
  if (key == "dtype") field = kType;
  if (key == "shape") field = kShape;
  if (key == "data_offsets") field = kOffsets;
  if (field == 0) return refuse(error, fmt::format("'{}' is no field of a tensor", key));
  if ((fields_ & field) != 0) return refuse(error, fmt::format("{} stands there twice", key));
  fields_ |= field;
  return true;
}

bool HeaderReader::on_string(Text rest, std::size_t, ErrorCode& error) {
  std::string text = take_text(rest);
  if (place_ == Place::Metadata) {
    header_.metadata.emplace(key_, std::move(text));
    return true;
  }
  if (place_ != Place::Tensor || key_ != "dtype") return refuse(error, "a text stands where none belongs");
  const auto type = element_type_from_name(text);
  if (!type) return refuse(error, fmt::format("dtype '{}' is none that this version reads", text));
  header_.tensors.back().type = *type;
  return true;
}

bool HeaderReader::on_int64(std::int64_t number, Text, ErrorCode& error) {
  if (number < 0) return refuse(error, fmt::format("{} is below 0", number));
  if (place_ == Place::Shape) {
    header_.tensors.back().shape.push_back(number);
  } else if (place_ == Place::Offsets) {
    offsets_.push_back(number);
  } else {
    return refuse(error, "a number stands where none belongs");
  }
  return true;
}

}  // namespace caravan::checkpoint
