#include <fmt/format.h>

#include <optional>
#include <string>

#include "common/schema/crd/validation_rules.h"
#include "common/schema/crd/yaml_writer.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::FieldRules;
using v1alpha1::StringFormat;

// Quantities above are cut off by the server when it reads them.
constexpr std::string_view kQuantityLimit = "8Ei";

// Raw, so that backslashes of the pattern stay.
std::string matches(std::string_view value, StringFormat::Value format) {
  return fmt::format("{}.matches(r'{}')", value, pattern_of(format));
}

std::string integer_expression(const FieldRules& rules) {
  if (!rules.has_minimum() && !rules.has_maximum()) return "";
  if (!rules.has_maximum()) return fmt::format("self >= {}", rules.minimum());
  if (!rules.has_minimum()) return fmt::format("self <= {}", rules.maximum());
  return fmt::format("self >= {} && self <= {}", rules.minimum(), rules.maximum());
}

std::string decimal_expression(const FieldRules& rules) {
  std::string expression = matches("self", StringFormat::Decimal);
  if (!rules.decimal_minimum().empty()) {
    expression += fmt::format(" && double(self) {} double('{}')",
                              rules.exclusive_minimum() ? ">" : ">=", rules.decimal_minimum());
  }
  if (!rules.decimal_maximum().empty()) {
    expression += fmt::format(" && double(self) <= double('{}')", rules.decimal_maximum());
  }
  return expression;
}

std::string quantity_expression(const FieldRules& rules) {
  std::string expression = fmt::format("{} && quantity(self).isLessThan(quantity('{}'))",
                                       matches("self", StringFormat::Quantity), kQuantityLimit);
  if (!rules.decimal_minimum().empty()) {
    expression +=
        fmt::format(" && {}(quantity('{}'))",
                    rules.exclusive_minimum() ? "quantity(self).isGreaterThan" : "!quantity(self).isLessThan",
                    rules.decimal_minimum());
  }
  return expression;
}

std::string string_expression(const FieldRules& rules) {
  switch (rules.format()) {
    case StringFormat::Any:
      return rules.allow_empty() ? "" : "size(self) > 0";
    case StringFormat::Decimal:
      return decimal_expression(rules);
    case StringFormat::Quantity:
      return quantity_expression(rules);
    default:
      return matches("self", rules.format());
  }
}

// Empty: every value of the type will do.
std::string expression_of(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) return integer_expression(rules);
  const bool is_free_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && rules.one_of().empty();
  return is_free_text ? string_expression(rules) : "";
}

// Some values of the field are not available.
std::optional<std::string> available_expression(const FieldRules& rules) {
  if (!rules.has_unavailable_above()) return std::nullopt;
  return fmt::format("self <= {}", rules.unavailable_above());
}

}  // namespace

Node rule(std::string_view expression, std::string_view message, std::string_view field_path) {
  std::vector<Node> entries = {text("rule", expression), text("message", message)};
  if (!field_path.empty()) entries.push_back(text("fieldPath", fmt::format(".{}", field_path)));
  return map("", std::move(entries));
}

std::vector<Node> value_rules(const FieldDescriptor& field) {
  std::vector<Node> rules;
  if (const std::string expression = expression_of(field); !expression.empty()) {
    rules.push_back(rule(expression, fmt::format("expected {}", expectation(field))));
  }
  if (const auto expression = available_expression(rules_of(field))) {
    rules.push_back(rule(*expression, unavailability(field)));
  }
  return rules;
}

std::vector<Node> list_rules(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  if (rules.min_items() == 0) return {};
  return {rule(fmt::format("size(self) >= {}", rules.min_items()), expected_entries(rules))};
}

Node key_rule(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  return rule(fmt::format("self.all(key, size(key) <= {})", rules.max_key_length()), expected_key(rules));
}

std::vector<Node> availability_rules(const Descriptor& type) {
  std::vector<Node> rules;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!is_unavailable(rules_of(field))) continue;
    const std::string& name = field.json_name();
    rules.push_back(rule(fmt::format("!has(self.{})", name), unavailability(field), name));
  }
  return rules;
}

Node name_rule(const FieldDescriptor& name) {
  const std::string value = fmt::format("self.metadata.{}", name.json_name());
  return rule(fmt::format("size({}) <= {} && {}", value, rules_of(name).max_length(),
                          matches(value, rules_of(name).format())),
              fmt::format("expected {}", expectation(name)), value.substr(value.find('.') + 1));
}

}  // namespace caravan::schema
