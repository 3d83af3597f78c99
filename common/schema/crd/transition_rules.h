// CEL rules about what may change after creation: `self` is the new message, `oldSelf` the old one.
//
// Nothing may, unless the schema says so. What may change while suspended may do so in the very update that
// suspends or resumes as well: Kueue places a job and starts it in one write, and takes both back in one.
#pragma once

#include <google/protobuf/descriptor.h>

#include <vector>

#include "common/result.h"
#include "common/schema/node.h"

namespace caravan::schema {

// Rules that stand at the field's message, of which some fields may change; none where a rule above it
// decides. Bad input: a message with such rules that may be absent, which would evade them.
Result<std::vector<Node>> transition_rules(const google::protobuf::FieldDescriptor& field);

}  // namespace caravan::schema
