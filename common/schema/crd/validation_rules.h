// CEL rules (x-kubernetes-validations) by which the API server refuses values, with the sentences of the
// loader, and changes after creation.
//
// The server puts the path and the value in front: the rest of the sentence, what was expected, stands here
// as a constant text, for the server's estimate of costs does not bound numbers that are turned into text.
// The server evaluates rules only when types, lengths, choices and required fields are right: about these it
// speaks in words of its own.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::schema {

// About the field's value, or each entry of a list; `self` is that value.
std::vector<Node> value_rules(const google::protobuf::FieldDescriptor& field);

// About the list as a whole.
std::vector<Node> list_rules(const google::protobuf::FieldDescriptor& field);

// About the names of a map; `self` is the map.
Node key_rule(const google::protobuf::FieldDescriptor& field);

// Fields that this version does not have yet are not given; `self` is the message.
std::vector<Node> availability_rules(const google::protobuf::Descriptor& type);

// The name of an object, which only a rule at its root can see.
Node name_rule(const google::protobuf::FieldDescriptor& name);

// About what may change after creation: `self` is the new message, `oldSelf` the old one. Nothing may, unless
// the schema says so. What may change while suspended may do so in the very update that suspends or resumes
// as well: Kueue places a job and starts it in one write, and takes both back in one.
//
// They stand at the field's message, of which some fields may change; none where a rule above it decides. Bad
// input: a message with such rules that may be absent, which would evade them.
Result<std::vector<Node>> transition_rules(const google::protobuf::FieldDescriptor& field);

// field_path: relative to what the rule stands at; empty: the rule is about that.
Node rule(std::string_view expression, std::string_view message, std::string_view field_path = "");

}  // namespace caravan::schema
