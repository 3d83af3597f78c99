// Evaluates the CEL rules that messages of the schema carry, the same ones that stand in the CRD.
//
// A rule is skipped when a field that it reads has an error already: what it would say only follows from
// that. Of a section that it only asks for, errors within do not matter.
#pragma once

#include <google/protobuf/message.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/schema/document.h"

namespace caravan::schema {

// Paths of what cannot be believed after the fields were read.
struct UnreliableFields {
  std::vector<std::string> invalid;  // fields with an error
  // Messages with a field that nobody knows: any of their absent fields may be what it was meant to be.
  std::set<std::string> incomplete;
};

// message: with defaults; root: what it was read from, for the lines.
std::vector<Diagnostic> violated_cel_rules(const Node& root, const google::protobuf::Message& message,
                                           const UnreliableFields& unreliable);

// The fields that a rule reads, each once, relative to its message: "parallelism.tensor".
std::vector<std::string> references_of(std::string_view rule);

}  // namespace caravan::schema
