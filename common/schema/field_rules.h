// The rules that stand at the schema's fields (options.proto): which values a field may have, what it has
// when nobody gives it, and how single values and formats of strings are read by them.
//
// An error is the sentence a user reads, without the place: what was expected, what was found, what would be
// right. Beside the loader, whoever writes the schema down for others reads it here: documents, the CRD.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "caravan/v1alpha1/options.pb.h"
#include "common/schema/document.h"

namespace caravan::schema {

template <typename T>
using Value = tl::expected<T, std::string>;

const v1alpha1::FieldRules& rules_of(const google::protobuf::FieldDescriptor& field);

// The field with that JSON name; null when there is none.
const google::protobuf::FieldDescriptor* find_field(const google::protobuf::Descriptor& type,
                                                    std::string_view json_name);

// Names that an enumeration's field may have; the value 0 stands for absence.
std::vector<std::string> names_of(const google::protobuf::EnumDescriptor& type);

// JSON names of a message's fields.
std::vector<std::string> names_of(const google::protobuf::Descriptor& type);

// The only values that the field may have; none: it is no choice.
std::vector<std::string> choices_of(const google::protobuf::FieldDescriptor& field);

// Whether the whole field is what this version does not have yet, not only some of its values.
bool is_unavailable(const v1alpha1::FieldRules& rules);

// "not available yet in this version (ZeRO 3); use at most 1", of a field or of those of its values.
std::string unavailability(const google::protobuf::FieldDescriptor& field);

// What one value of the field must be: "a whole number from 1 to 16".
std::string expectation(const google::protobuf::FieldDescriptor& field);
// What the field as a whole must be: of a list, "a list, each entry a whole number from 1 to 16".
std::string whole_expectation(const google::protobuf::FieldDescriptor& field);

// "expected at least 1 entry", of a list.
std::string expected_entries(const v1alpha1::FieldRules& rules);
// "expected names of at most 317 characters"
std::string expected_key(const v1alpha1::FieldRules& rules);

// Writes the schema's default values into a message, as the API server does: a field that is absent and has a
// `default_value` gets it, `{}` creates a message whose own defaults follow; other absent messages stay
// absent.
void apply_defaults(google::protobuf::Message& message);

// Of the format, length and bounds of a string: "a decimal number from 0 to 100, such as \"3e-4\"".
std::string describe_format(const v1alpha1::FieldRules& rules);

// What the API server checks the text of a format by, in the syntax of RE2; empty when anything goes. It
// holds for what `broken_format` accepts, and for little else: numbers may still be out of bounds, and an
// exponent has two digits.
std::string_view pattern_of(v1alpha1::StringFormat::Value format);

// The sentence that says why `text` breaks the rules; nothing when it keeps them.
std::optional<std::string> broken_format(const v1alpha1::FieldRules& rules, std::string_view text);

// "expected X, got Y" for a node of the wrong kind.
std::string mismatch(const std::string& expected, const Node& node);

Value<std::int32_t> read_integer(const google::protobuf::FieldDescriptor& field, const Node& node);
Value<bool> read_boolean(const google::protobuf::FieldDescriptor& field, const Node& node);
Value<std::string> read_string(const google::protobuf::FieldDescriptor& field, const Node& node);
// The number of the enumeration's value.
Value<int> read_enumeration(const google::protobuf::FieldDescriptor& field, const Node& node);

// Whether `read_string` took a number that stands without quotes: the API server takes strings only.
bool is_unquoted_number(const Node& node);

}  // namespace caravan::schema
