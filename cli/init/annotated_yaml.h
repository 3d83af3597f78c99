// A message as YAML for people to go on with: each field below what the schema says about it, and fields that
// may be of use later as lines that are commented out.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace caravan::cli {

// given: the fields that the text has. suggested: of the same type; its fields that `given` lacks stand there
// as `#name: value`, so that taking the '#' away gives them. indentation: of every line, in spaces.
//
// Lists and maps are left out: a new job has none.
std::string annotated_yaml(const google::protobuf::Message& given, const google::protobuf::Message& suggested,
                           int indentation);

// A string as a YAML value, in quotes where it needs them.
std::string yaml_scalar(const std::string& text);

}  // namespace caravan::cli
