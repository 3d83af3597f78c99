// A JSON document as the tree that the loader of the schema reads (common/schema/loader.h).
#pragma once

#include <string>

#include "common/schema/document.h"
#include "kube/api/json.h"

namespace caravan::controller {

// key: of a map's entry. No node has a line.
schema::Node to_node(const kube::Json& value, std::string key = "");

}  // namespace caravan::controller
