// Writes the schema's default values into a message, as the API server does: a field that is absent and has a
// `default_value` gets it, `{}` creates a message whose own defaults follow; other absent messages stay
// absent.
#pragma once

#include <google/protobuf/message.h>

namespace caravan::schema {

void apply_defaults(google::protobuf::Message& message);

}  // namespace caravan::schema
