// Messages as JSON text and back, for files, pipes and `-o json`.
//
// Writing differs from protobuf's own printer where users and other tools read the result: 64-bit integers
// are plain numbers, doubles have the shortest digits that read back the same, NaN and infinities are null.
// Names are lowerCamelCase, fields stand in the order of the schema, map entries in the order of their keys:
// same message, same text. Left out are absent fields, empty strings, lists and maps, and enumerations
// without a value; one whose value the schema does not know is a number. Text that is not UTF-8 (a program's
// last words) gets replacement characters.
//
// Reading takes what the writer writes. An unknown field or a value of the wrong type is an error (bad
// input).
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan {

enum class JsonLayout { kOneLine, kIndented };

std::string to_json(const google::protobuf::Message& message, JsonLayout layout = JsonLayout::kOneLine);

// `text` in quotes, escaped.
std::string json_string(std::string_view text);

// `value` with the shortest digits that read back the same; null when it is not finite.
std::string json_number(double value);

// Absent where the schema has no such value. GetEnum() of protobuf's Reflection makes a descriptor for each
// of these, and keeps it for ever.
std::optional<std::string> enum_name(const google::protobuf::EnumDescriptor& type, int number);

Status parse_json(std::string_view text, google::protobuf::Message& message);

template <typename M>
Result<M> from_json(std::string_view text) {
  M message;
  if (Status parsed = parse_json(text, message); !parsed) return tl::unexpected(parsed.error());
  return message;
}

}  // namespace caravan
