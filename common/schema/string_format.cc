#include <fmt/format.h>

#include <algorithm>

#include "common/decimal.h"
#include "common/quantity.h"
#include "common/schema/field_rules.h"
#include "common/schema/message_text.h"
#include "common/utf8.h"

namespace caravan::schema {
namespace {

using v1alpha1::FieldRules;
using v1alpha1::StringFormat;

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// RFC 1035.
bool is_dns_label(std::string_view text) {
  if (text.empty() || text.front() < 'a' || text.front() > 'z' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

// RFC 1123, a subdomain.
bool is_object_name(std::string_view text) {
  char before = '.';
  for (const char c : text) {
    const bool fits =
        is_lower_or_digit(c) || (c == '-' && before != '.') || (c == '.' && is_lower_or_digit(before));
    if (!fits) return false;
    before = c;
  }
  return is_lower_or_digit(before);
}

bool is_environment_name(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// The bounds are texts of the same format.
template <typename Parse>
bool is_within(const FieldRules& rules, std::string_view text, Parse parse) {
  const auto number = parse(text);
  if (!number) return false;
  const auto minimum = parse(rules.decimal_minimum());
  const auto maximum = parse(rules.decimal_maximum());
  if (minimum && (rules.exclusive_minimum() ? *number <= *minimum : *number < *minimum)) return false;
  return !maximum || *number <= *maximum;
}

// As the pattern has it.
bool has_short_exponent(std::string_view text) {
  const std::size_t mark = text.find_last_of("eE");
  if (mark == std::string_view::npos) return true;
  const auto digits = text.substr(mark + 1);
  return std::ranges::count_if(digits, [](char c) { return c >= '0' && c <= '9'; }) <= 2;
}

bool has_format(const FieldRules& rules, std::string_view text) {
  switch (rules.format()) {
    case StringFormat::Decimal:
      return has_short_exponent(text) && is_within(rules, text, parse_decimal);
    case StringFormat::Quantity:
      return has_short_exponent(text) && is_within(rules, text, parse_quantity);
    case StringFormat::DnsLabel:
      return is_dns_label(text);
    case StringFormat::Path:
      return !has_control_characters(text);
    case StringFormat::EnvironmentName:
      return is_environment_name(text);
    case StringFormat::ObjectName:
      return is_object_name(text);
    default:
      return true;
  }
}

std::string describe_decimal(const FieldRules& rules) {
  if (rules.decimal_minimum().empty() || rules.decimal_maximum().empty())
    return "a decimal number such as \"3e-4\"";
  const std::string_view lower = rules.exclusive_minimum() ? "above" : "from";
  return fmt::format("a decimal number {} {} {} {}", lower, rules.decimal_minimum(),
                     rules.exclusive_minimum() ? "and at most" : "to", rules.decimal_maximum());
}

std::string describe_quantity(const FieldRules& rules) {
  if (rules.decimal_minimum().empty()) return "a quantity such as 80Gi or 500M";
  return fmt::format("a quantity {} {}, such as 80Gi or 500M", rules.exclusive_minimum() ? "above" : "from",
                     rules.decimal_minimum());
}

}  // namespace

std::string describe_format(const FieldRules& rules) {
  const std::string length =
      rules.max_length() == 0 ? "" : fmt::format(" of at most {} characters", rules.max_length());
  switch (rules.format()) {
    case StringFormat::Decimal:
      return describe_decimal(rules);
    case StringFormat::Quantity:
      return describe_quantity(rules);
    case StringFormat::DnsLabel:
      return fmt::format("a name{}: lower case letters, digits and '-', a letter first, no '-' at the end",
                         length);
    case StringFormat::Path:
      return fmt::format("a path{}, without control characters", length);
    case StringFormat::EnvironmentName:
      return fmt::format("a name{}: upper case letters, digits and '_', no digit first", length);
    case StringFormat::ObjectName:
      return fmt::format("a name{}: lower case letters and digits, between them '-' or a single '.'", length);
    default:
      return fmt::format("a string{}", length);
  }
}

std::string_view pattern_of(StringFormat::Value format) {
  switch (format) {
    case StringFormat::Decimal:
      return "^[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,2})?$";
    case StringFormat::Quantity:
      return "^([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$";
    case StringFormat::DnsLabel:
      return "^[a-z]([-a-z0-9]*[a-z0-9])?$";
    case StringFormat::Path:
      return R"(^[^\x00-\x1F\x7F]+$)";
    case StringFormat::EnvironmentName:
      return "^[A-Z_][A-Z0-9_]*$";
    case StringFormat::ObjectName:
      return "^[a-z0-9]+((-+|[.])[a-z0-9]+)*$";
    default:
      return "";
  }
}

std::optional<std::string> broken_format(const FieldRules& rules, std::string_view text) {
  if (text.empty()) {
    if (rules.allow_empty()) return std::nullopt;
    return fmt::format("expected {}, got an empty string", describe_format(rules));
  }
  if (rules.max_length() != 0 && utf8_characters(text) > rules.max_length()) {
    return fmt::format("expected {}, got {} characters: {}", describe_format(rules), utf8_characters(text),
                       in_quotes(text));
  }
  if (has_format(rules, text)) return std::nullopt;
  return fmt::format("expected {}, got {}", describe_format(rules), in_quotes(text));
}

}  // namespace caravan::schema
