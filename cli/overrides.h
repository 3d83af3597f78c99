// `--set path=value`: replaces one value in a job file's tree, or removes it.
//
// The value is YAML as it would stand in the file: a scalar, a list such as [2, 2], or null, which removes
// the field, or the section with all that is in it. What the path and the value mean is judged later, with
// the file's own fields.
#pragma once

#include <string>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::cli {

Status apply_override(const std::string& assignment, schema::Node& root);

}  // namespace caravan::cli
