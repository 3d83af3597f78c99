#include "common/schema/field_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "common/schema/message_text.h"
#include "common/schema/plain_scalar.h"

namespace caravan::schema {
namespace {

using google::protobuf::FieldDescriptor;
using v1alpha1::FieldRules;
using v1alpha1::StringFormat;

tl::unexpected<std::string> wrong(std::string sentence) {
  return tl::unexpected<std::string>(std::move(sentence));
}

struct Bounds {
  std::int64_t minimum;
  std::int64_t maximum;
};

Bounds bounds_of(const FieldRules& rules) {
  return {rules.has_minimum() ? rules.minimum() : std::numeric_limits<std::int32_t>::min(),
          rules.has_maximum() ? rules.maximum() : std::numeric_limits<std::int32_t>::max()};
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Digits as JSON writes them: no sign but '-', no leading zero, which YAML 1.1 reads as octal.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && (text.size() == 1 || text.front() != '0');
}

std::string one_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front() : fmt::format("one of {}", joined(names));
}

// Text that must be one of the field's choices.
Value<std::string> read_choice(const FieldDescriptor& field, const Node& node) {
  const std::vector<std::string> names = choices_of(field);
  if (node.kind != NodeKind::kScalar) return wrong(mismatch(one_of(names), node));
  if (std::find(names.begin(), names.end(), node.text) == names.end()) {
    const auto meant = closest_match(node.text, names);
    return wrong(fmt::format("expected {}, got {}{}", one_of(names), in_quotes(node.text),
                             meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }
  return node.text;
}

bool is_numeric_format(const FieldRules& rules) {
  return rules.format() == StringFormat::Decimal || rules.format() == StringFormat::Quantity;
}

}  // namespace

const FieldRules& rules_of(const FieldDescriptor& field) {
  return field.options().GetExtension(v1alpha1::rules);
}

const FieldDescriptor* find_field(const google::protobuf::Descriptor& type, std::string_view json_name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == json_name) return type.field(i);
  }
  return nullptr;
}

std::vector<std::string> names_of(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return names;
}

std::vector<std::string> names_of(const google::protobuf::Descriptor& type) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(type.field_count()));
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->json_name());
  return names;
}

std::vector<std::string> choices_of(const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return names_of(*field.enum_type());
  return {rules_of(field).one_of().begin(), rules_of(field).one_of().end()};
}

bool is_unavailable(const FieldRules& rules) {
  return !rules.unavailable().empty() && !rules.has_unavailable_above();
}

std::string unavailability(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  std::string instead = "leave it out";
  if (rules.has_unavailable_above()) instead = fmt::format("use at most {}", rules.unavailable_above());
  return fmt::format("not available yet in this version ({}); {}", rules.unavailable(), instead);
}

std::string expectation(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return one_of(choices_of(field));
    case FieldDescriptor::CPPTYPE_STRING:
      return rules.one_of().empty() ? describe_format(rules) : one_of(choices_of(field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.is_map() ? "a map of names to strings"
                            : fmt::format("a map of the fields {}", joined(names_of(*field.message_type())));
    default:
      const auto [minimum, maximum] = bounds_of(rules);
      return fmt::format("a whole number from {} to {}", minimum, maximum);
  }
}

std::string whole_expectation(const FieldDescriptor& field) {
  if (!field.is_repeated() || field.is_map()) return expectation(field);
  return fmt::format("a list, each entry {}", expectation(field));
}

std::string expected_entries(const FieldRules& rules) {
  return fmt::format("expected at least {} {}", rules.min_items(),
                     rules.min_items() == 1 ? "entry" : "entries");
}

std::string expected_key(const FieldRules& rules) {
  return fmt::format("expected names of at most {} characters", rules.max_key_length());
}

std::string mismatch(const std::string& expected, const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull:
      return fmt::format("expected {}, got no value", expected);
    case NodeKind::kList:
      return fmt::format("expected {}, got a list", expected);
    case NodeKind::kMap:
      return fmt::format("expected {}, got a map", expected);
    case NodeKind::kScalar:
      break;
  }
  return fmt::format("expected {}, got {}{}", expected, node.quoted ? "the string " : "",
                     in_quotes(node.text));
}

Value<std::int32_t> read_integer(const FieldDescriptor& field, const Node& node) {
  const FieldRules& rules = rules_of(field);
  const std::string& text = node.text;
  if (node.kind != NodeKind::kScalar || !is_whole_number(text))
    return wrong(mismatch(expectation(field), node));
  if (node.quoted) return wrong(mismatch(expectation(field), node) + "; remove the quotes");
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto [minimum, maximum] = bounds_of(rules);
  if (read.ec != std::errc() || number < minimum || number > maximum) {
    return wrong(fmt::format("expected {}, got {}", expectation(field), text.substr(0, 40)));
  }
  if (rules.has_unavailable_above() && number > rules.unavailable_above()) {
    return wrong(fmt::format("{} is {}", text, unavailability(field)));
  }
  return static_cast<std::int32_t>(number);
}

Value<bool> read_boolean(const FieldDescriptor& field, const Node& node) {
  if (node.kind == NodeKind::kScalar && !node.quoted) {
    if (is_one_of(node.text, {"true", "True", "TRUE"})) return true;
    if (is_one_of(node.text, {"false", "False", "FALSE"})) return false;
  }
  const bool only_quoted = node.quoted && is_one_of(node.text, {"true", "false"});
  return wrong(mismatch(expectation(field), node) + (only_quoted ? "; remove the quotes" : ""));
}

Value<int> read_enumeration(const FieldDescriptor& field, const Node& node) {
  return read_choice(field, node).map([&](const std::string& name) {
    return field.enum_type()->FindValueByName(name)->number();
  });
}

Value<std::string> read_string(const FieldDescriptor& field, const Node& node) {
  const FieldRules& rules = rules_of(field);
  if (!rules.one_of().empty()) return read_choice(field, node);
  if (node.kind != NodeKind::kScalar) return wrong(mismatch(expectation(field), node));
  const std::string& text = node.text;
  const PlainScalar plain = plain_scalar(text);
  const bool is_no_text = plain == PlainScalar::kBoolean || plain == PlainScalar::kNumber;
  if (!node.quoted && !is_numeric_format(rules) && is_no_text) {
    return wrong(fmt::format("expected {}, got {}; put it in quotes to make it a string", expectation(field),
                             in_quotes(text)));
  }
  if (auto broken = broken_format(rules, text)) return wrong(*std::move(broken));
  return text;
}

bool is_unquoted_number(const Node& node) {
  return node.kind == NodeKind::kScalar && !node.quoted && plain_scalar(node.text) == PlainScalar::kNumber;
}

}  // namespace caravan::schema
