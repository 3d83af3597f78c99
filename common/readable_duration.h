// Durations as people read them, everywhere in the product: "2h13m".
//
// Rounded for display; whoever computes with a number reads JSON. Measured times, of a step say, are figures
// with a unit instead (planner/explain/figures.h). Pure and independent of the locale.
#pragma once

#include <string>

namespace caravan {

// The two largest units: "3d04h", "2h13m", "3m20s", "45s"; below ten seconds "4.2s". Never less than "0.0s".
std::string readable_duration(double seconds);

}  // namespace caravan
