// What people read about a field of the job (remarks.h), kept in the program: the schema's comments are not
// in the descriptors that a program is built with.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace caravan::schema {

// On one line; empty when the schema says nothing about the field.
std::string_view field_remarks(const google::protobuf::FieldDescriptor& field);

}  // namespace caravan::schema
