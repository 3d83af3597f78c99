#include <google/protobuf/descriptor.h>

#include <string>

#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void set_default(Message& message, const FieldDescriptor& field, const std::string& value) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, std::stoi(value));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, value == "true");
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnum(&message, &field, field.enum_type()->FindValueByName(value));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      reflection.MutableMessage(&message, &field);
      return;
    default:
      return reflection.SetString(&message, &field, value);
  }
}

void apply_within(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    if (reflection.HasField(message, &field)) apply_defaults(*reflection.MutableMessage(&message, &field));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    apply_defaults(*reflection.MutableRepeatedMessage(&message, &field, i));
  }
}

}  // namespace

void apply_defaults(Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string& value = rules_of(field).default_value();
    if (!field.is_repeated() && !value.empty() && !message.GetReflection()->HasField(message, &field)) {
      set_default(message, field, value);
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map()) apply_within(message, field);
  }
}

}  // namespace caravan::schema
