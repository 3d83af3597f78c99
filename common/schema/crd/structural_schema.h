// The OpenAPI schema of a message, as a CustomResourceDefinition holds it: types, bounds, defaults, choices,
// descriptions, and CEL rules.
//
// Every default of the schema is here, and nothing else is defaulted: the rules read messages with defaults,
// as the loader does; an object shows what it trains with; and a job keeps its meaning when a later version
// has other defaults. What is absent because the planner decides it has no default anywhere.
#pragma once

#include <google/protobuf/descriptor.h>

#include "common/result.h"
#include "common/schema/node.h"

namespace caravan::schema {

// Of an object as a whole: its `metadata` is left to the server but for the name, its `status` has types and
// upper bounds only, since a status that is refused tells nobody anything.
Result<Node> object_schema(const google::protobuf::Descriptor& object);

}  // namespace caravan::schema
