// What people read about a field or a message: the comments of the schema and what its options say in words.
//
// Comments are there only in descriptors that were built with source information, as `protoc
// --include_source_info` writes it.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace caravan::schema {

// The comment above it, on one line; empty when there is none.
std::string comment_of(const google::protobuf::Descriptor& type);

// The comment, what is not available yet, where it matters, when it may change.
std::string remarks_on(const google::protobuf::FieldDescriptor& field);

}  // namespace caravan::schema
