// The CustomResourceDefinition of a message that the schema calls a resource.
//
// Guarantees: same schema, same text. The message has the fields metadata (with a name), spec and status.
// Every default of the schema is here, and nothing else is defaulted: the rules read messages with defaults,
// as the loader does; an object shows what it trains with; and a job keeps its meaning when a later version
// has other defaults. What is absent because the planner decides it has no default anywhere.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::schema {

// YAML, as kubectl applies it.
Result<std::string> custom_resource_definition(const google::protobuf::Descriptor& object);

// Its OpenAPI schema: types, bounds, defaults, choices, descriptions, and CEL rules. `metadata` is left to
// the server but for the name; `status` has types and upper bounds only, since a status that is refused tells
// nobody anything.
Result<Node> structural_schema(const google::protobuf::Descriptor& object);

}  // namespace caravan::schema
