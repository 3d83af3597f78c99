// The built-in products, with where each number comes from.
#pragma once

#include <vector>

#include "planner/device/catalogue.h"

namespace caravan::planner {

const std::vector<DeviceProduct>& built_in_products();

}  // namespace caravan::planner
