// Reads an engine profile, a YAML file with the keys of planner/profiles/caravan.yaml, by the schema's own
// rules. An error has one line per mistake, `FILE:LINE: field: what is wrong`, and exit code 2.
#pragma once

#include <string>

#include "common/result.h"
#include "planner/engine_profile.h"

namespace caravan::cli {

Result<planner::EngineProfile> load_profile(const std::string& path);

}  // namespace caravan::cli
