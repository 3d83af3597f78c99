// Turns a tree into a message by the rules that the schema carries (options.proto).
//
// Guarantees: every error is found in one go, each with its line and path, none that merely follows from
// another; afterwards defaults stand in the message, and the CEL rules hold if there is no error. Nothing is
// dropped without an error or a warning. Assumes: the message uses the API's types only (booleans, int32,
// strings, enumerations, messages, lists, maps of strings).
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "common/schema/document.h"

namespace caravan::schema {

struct Diagnostics {
  std::vector<Diagnostic> errors;
  // Accepted, but the user should know: ignored fields, numbers taken as strings.
  std::vector<Diagnostic> warnings;
  // Paths of given fields that have a meaning on a cluster only.
  std::vector<std::string> cluster_only;
};

Diagnostics load_message(const Node& root, google::protobuf::Message& message);

}  // namespace caravan::schema
