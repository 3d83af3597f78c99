// CEL rules of single values, so that the API server refuses a value with the sentence of the loader. The
// server puts the path and the value in front: the rest of the sentence, what was expected, stands here as a
// constant text, for the server's estimate of costs does not bound numbers that are turned into text.
//
// The server evaluates rules only when types, lengths, choices and required fields are right: about these it
// speaks in words of its own.
#pragma once

#include <google/protobuf/descriptor.h>

#include <vector>

#include "common/schema/node.h"

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

// field_path: relative to what the rule stands at; empty: the rule is about that.
Node rule(std::string_view expression, std::string_view message, std::string_view field_path = "");

}  // namespace caravan::schema
