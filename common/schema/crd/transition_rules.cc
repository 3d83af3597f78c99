#include <fmt/format.h>

#include <string>

#include "common/schema/crd/validation_rules.h"
#include "common/schema/crd/yaml_writer.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::Mutability;

constexpr const char* kSwitch = "suspend";

bool has_mutable_parts(const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_repeated()) return false;
  const Descriptor& type = *field.message_type();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& inner = *type.field(i);
    if (rules_of(inner).mutability() != Mutability::Immutable || has_mutable_parts(inner)) return true;
  }
  return false;
}

bool is_always_there(const FieldDescriptor& field) {
  return rules_of(field).required() || !rules_of(field).default_value().empty();
}

std::string unchanged(const FieldDescriptor& field) {
  const std::string& name = field.json_name();
  if (is_always_there(field)) return fmt::format("self.{0} == oldSelf.{0}", name);
  return fmt::format("has(self.{0}) == has(oldSelf.{0}) && (!has(self.{0}) || self.{0} == oldSelf.{0})",
                     name);
}

Node transition_rule(const FieldDescriptor& field) {
  const bool while_suspended = rules_of(field).mutability() == Mutability::WhileSuspended;
  Node made =
      while_suspended
          ? rule(fmt::format("self.{0} || oldSelf.{0} || {1}", kSwitch, unchanged(field)),
                 fmt::format("may change only while spec.{} is true", kSwitch), field.json_name())
          : rule(unchanged(field), "may not change after creation; create another job", field.json_name());
  made.children.push_back(text("reason", "FieldValueForbidden"));
  return made;
}

}  // namespace

Result<std::vector<Node>> transition_rules(const FieldDescriptor& field) {
  std::vector<Node> rules;
  if (!has_mutable_parts(field)) return rules;
  const Descriptor& type = *field.message_type();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& inner = *type.field(i);
    if (rules_of(inner).mutability() == Mutability::Always || has_mutable_parts(inner)) continue;
    rules.push_back(transition_rule(inner));
  }
  if (rules.empty() || is_always_there(field)) return rules;
  return bad_input(fmt::format("{}: is partly mutable, so it needs a default", field.full_name()));
}

}  // namespace caravan::schema
