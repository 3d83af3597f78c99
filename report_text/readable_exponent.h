// Numbers of any size as people read them in the line of a step: learning rates, say. Rounded for display;
// whoever computes with a number reads the JSON lines. Pure and independent of the locale.
#pragma once

#include <string>

namespace caravan {

// "3.0e-4": two digits, no padding in the exponent.
std::string readable_exponent(double value);

}  // namespace caravan
