// Evaluates the CEL rules that messages of the schema carry, the same ones that stand in the CRD.
//
// A rule is skipped when a field that it reads has a mistake already: what it would say only follows from
// that.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/schema/doubts.h"
#include "common/schema/findings.h"
#include "common/schema/node.h"

namespace caravan::schema {

// message: with defaults; root: what it was read from, for the lines.
std::vector<Remark> broken_cel_rules(const Node& root, const google::protobuf::Message& message,
                                     const Doubts& doubts);

// The fields that a rule reads, each once, relative to its message: "parallelism.tensor".
std::vector<std::string> references_of(std::string_view rule);

}  // namespace caravan::schema
