// What people read about a field, a message or a method: the comments of the schema and what its options say
// in words.
//
// Comments are there only in descriptors that were built with source information, as `protoc
// --include_source_info` writes them. Programs that were built without have a table of the descriptions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::schema {

// Fills the pool from a file that `protoc --include_source_info --include_imports --descriptor_set_out` made.
Status read_descriptor_set(const std::string& path, google::protobuf::DescriptorPool& pool);

// The comment above it, on one line; empty when there is none.
std::string comment_of(const google::protobuf::Descriptor& type);
std::string comment_of(const google::protobuf::MethodDescriptor& method);

// The comment, what is not available yet, where it matters, when it may change.
std::string description_of(const google::protobuf::FieldDescriptor& field);

// The same from the table (of the library caravan_field_descriptions), for fields of the job; empty when the
// schema says nothing about the field.
std::string_view compiled_description_of(const google::protobuf::FieldDescriptor& field);

}  // namespace caravan::schema
