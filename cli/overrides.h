// `--set path=value`: replaces one value in a job file's tree.
//
// The value is YAML as it would stand in the file: a scalar, or a list such as [2, 2]. What the path and the
// value mean is judged later, with the file's own fields.
#pragma once

#include <string>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::cli {

Status apply_override(const std::string& assignment, schema::Node& root);

}  // namespace caravan::cli
