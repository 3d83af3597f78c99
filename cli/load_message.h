// Reads a YAML file into a message by the rules that the message's schema carries. An error has one line per
// mistake, `FILE:LINE: field: what is wrong`, and exit code 2.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::cli {

// Gives the tree as well, so that later mistakes can be told with their lines.
Result<schema::Node> load_yaml_message(const std::string& path, google::protobuf::Message& message);

}  // namespace caravan::cli
