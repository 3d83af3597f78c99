// Reads a device catalogue, a YAML file that lists products of the user's own
// (proto/caravan/v1alpha1/devices.proto). An error has one line per mistake, `FILE:LINE: field: what is
// wrong`, and exit code 2.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "planner/device/catalogue.h"

namespace caravan::cli {

Result<std::vector<planner::DeviceProduct>> load_devices(const std::string& path);

}  // namespace caravan::cli
