#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "common/schema/crd/custom_resource.h"
#include "common/schema/crd/validation_rules.h"
#include "common/schema/crd/yaml_writer.h"
#include "common/schema/field_descriptions.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::FieldRules;
using Nodes = std::vector<Node>;

constexpr const char* kRules = "x-kubernetes-validations";

enum class Author { kUser, kOperator };

void append(Nodes& to, Nodes from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void add_rules(Nodes& schema, Nodes rules) {
  if (!rules.empty()) schema.push_back(list(kRules, std::move(rules)));
}

bool is_message(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map();
}

std::string description_with_type(const FieldDescriptor& field) {
  std::string description = description_of(field);
  if (!is_message(field)) return description;
  const std::string comment = comment_of(*field.message_type());
  return description.empty() || comment.empty() ? description + comment
                                                : fmt::format("{} {}", description, comment);
}

// What the loader would make of an absent field. Messages are written out: the server checks its rules
// against a default before it adds the defaults within.
Node default_of(const FieldDescriptor& field, std::string_view key) {
  const std::string& value = rules_of(field).default_value();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_ENUM:
      return text(key, value);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
    default:
      return literal(key, value);
  }
  Nodes entries;
  for (int i = 0; i < field.message_type()->field_count(); ++i) {
    const FieldDescriptor& inner = *field.message_type()->field(i);
    if (!rules_of(inner).default_value().empty()) entries.push_back(default_of(inner, inner.json_name()));
  }
  return map(key, std::move(entries));
}

// That the loader evaluates too.
Nodes message_rules(const Descriptor& type) {
  Nodes rules = availability_rules(type);
  const auto& options = type.options();
  for (int i = 0; i < options.ExtensionSize(v1alpha1::cel); ++i) {
    const v1alpha1::CelRule& cel = options.GetExtension(v1alpha1::cel, i);
    rules.push_back(rule(cel.rule(), cel.message(), cel.field_path()));
  }
  return rules;
}

class Generator {
 public:
  explicit Generator(Author author) : author_(author) {}

  Result<Node> field_schema(const FieldDescriptor& field) {
    Nodes schema;
    if (const std::string words = description_with_type(field); !words.empty()) {
      schema.push_back(text("description", words));
    }
    if (!rules_of(field).default_value().empty()) schema.push_back(default_of(field, "default"));
    auto type = field.is_map()        ? Result<Nodes>(map_schema(field))
                : field.is_repeated() ? list_schema(field)
                                      : single_schema(field);
    if (!type) return tl::unexpected(type.error());
    append(schema, *std::move(type));
    return map(field.json_name(), std::move(schema));
  }

 private:
  Result<Nodes> message_schema(const Descriptor& type) {
    Nodes properties;
    std::vector<std::string> required;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      auto schema = field_schema(field);
      if (!schema) return tl::unexpected(schema.error());
      properties.push_back(*std::move(schema));
      if (rules_of(field).required()) required.push_back(field.json_name());
    }
    Nodes schema = {text("type", "object"), map("properties", std::move(properties))};
    if (!required.empty()) schema.push_back(text_list("required", required));
    return schema;
  }

  static Nodes map_schema(const FieldDescriptor& field) {
    const FieldRules& rules = rules_of(field);
    Nodes schema = {
        text("type", "object"), number("maxProperties", rules.max_items()),
        map("additionalProperties", {text("type", "string"), number("maxLength", rules.max_length())})};
    add_rules(schema, {key_rule(field)});
    return schema;
  }

  Result<Nodes> list_schema(const FieldDescriptor& field) {
    const FieldRules& rules = rules_of(field);
    auto items = single_schema(field);
    if (!items) return items;
    Nodes schema = {text("type", "array"), number("maxItems", rules.max_items())};
    if (rules.min_items() > 0) schema.push_back(number("minItems", rules.min_items()));
    if (!rules.list_key().empty()) {
      schema.push_back(text("x-kubernetes-list-type", "map"));
      schema.push_back(text_list("x-kubernetes-list-map-keys", {rules.list_key()}));
    }
    schema.push_back(map("items", *std::move(items)));
    if (author_ == Author::kUser) add_rules(schema, list_rules(field));
    return schema;
  }

  // Of one value: the field's, or that of a list's entry.
  Result<Nodes> single_schema(const FieldDescriptor& field) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return section_schema(field);
    Nodes schema;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        schema = {text("type", "boolean")};
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        schema = integer_schema(rules_of(field));
        break;
      default:
        schema = string_schema(field);
    }
    if (author_ == Author::kUser) add_rules(schema, value_rules(field));
    return schema;
  }

  Result<Nodes> section_schema(const FieldDescriptor& field) {
    auto schema = message_schema(*field.message_type());
    if (!schema || author_ == Author::kOperator) return schema;
    auto transitions = transition_rules(field);
    if (!transitions) return transitions;
    Nodes rules = message_rules(*field.message_type());
    append(rules, *std::move(transitions));
    add_rules(*schema, std::move(rules));
    return schema;
  }

  static Nodes integer_schema(const FieldRules& rules) {
    Nodes schema = {text("type", "integer"), text("format", "int32")};
    if (rules.has_minimum()) schema.push_back(number("minimum", rules.minimum()));
    if (rules.has_maximum()) schema.push_back(number("maximum", rules.maximum()));
    return schema;
  }

  Nodes string_schema(const FieldDescriptor& field) const {
    const FieldRules& rules = rules_of(field);
    Nodes schema = {text("type", "string")};
    if (const auto choices = choices_of(field); !choices.empty()) {
      schema.push_back(text_list("enum", choices));
      return schema;
    }
    schema.push_back(number("maxLength", rules.max_length()));
    if (author_ == Author::kOperator) return schema;
    if (!rules.allow_empty()) schema.push_back(number("minLength", 1));
    if (const auto pattern = pattern_of(rules.format()); !pattern.empty()) {
      schema.push_back(text("pattern", pattern));
    }
    return schema;
  }

  Author author_;
};

}  // namespace

Result<Node> structural_schema(const Descriptor& object) {
  Nodes properties = {
      map("apiVersion", {text("type", "string")}), map("kind", {text("type", "string")}),
      map("metadata", {text("type", "object"), map("properties", {map("name", {text("type", "string")})})})};
  for (const auto& [name, author] :
       {std::pair("spec", Author::kUser), std::pair("status", Author::kOperator)}) {
    auto schema = Generator(author).field_schema(*find_field(object, name));
    if (!schema) return schema;
    properties.push_back(*std::move(schema));
  }
  const FieldDescriptor& name = *find_field(*find_field(object, "metadata")->message_type(), "name");
  return map("openAPIV3Schema", {text("description", comment_of(object)), text("type", "object"),
                                 text_list("required", {"spec"}), map("properties", std::move(properties)),
                                 list(kRules, {name_rule(name)})});
}

}  // namespace caravan::schema
