// Products of a user's catalogue file, which change the built-in ones or stand beside them.
#pragma once

#include "caravan/v1alpha1/devices.pb.h"
#include "common/result.h"
#include "planner/device/catalogue.h"

namespace caravan::planner {

// entry: within the schema's bounds. Bad input, as `field: what is wrong`, when a product that is not known
// lacks a number, or when its numbers contradict each other.
Result<DeviceProduct> read_device(const v1alpha1::DeviceEntry& entry);

}  // namespace caravan::planner
