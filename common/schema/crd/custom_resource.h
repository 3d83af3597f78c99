// The CustomResourceDefinition of a message that the schema calls a resource.
//
// Guarantees: same schema, same text. The message has the fields metadata (with a name), spec and status.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "common/result.h"

namespace caravan::schema {

// YAML, as kubectl applies it.
Result<std::string> custom_resource_definition(const google::protobuf::Descriptor& object);

}  // namespace caravan::schema
