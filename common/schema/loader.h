// Turns a tree into a message by the rules that the schema carries (options.proto).
//
// Guarantees: every mistake is found in one go, each with its line and path, none that merely follows from
// another; afterwards defaults stand in the message, and the CEL rules hold if there is no mistake. Nothing
// is dropped without a mistake or a note. Assumes: the message uses the API's types only (booleans, int32,
// strings, enumerations, messages, lists, maps of strings).
#pragma once

#include <google/protobuf/message.h>

#include "common/schema/findings.h"
#include "common/schema/node.h"

namespace caravan::schema {

Findings load_message(const Node& root, google::protobuf::Message& message);

}  // namespace caravan::schema
