// Numbers as people read them on the console: durations, learning rates.
//
// Rounded for display; whoever computes with a number reads the JSON lines. Pure and independent of the
// locale.
#pragma once

#include <string>

namespace caravan {

// "2h13m", "3m20s", "45s"; below ten seconds "4.2s".
std::string readable_duration(double seconds);

// "3.0e-4": two digits, no padding in the exponent.
std::string readable_exponent(double value);

// "41.7%" of a fraction.
std::string readable_percent(double fraction);

}  // namespace caravan
