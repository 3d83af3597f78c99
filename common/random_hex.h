// Names that nobody else has chosen: hexadecimal digits of the system's randomness.
#pragma once

#include <string>

namespace caravan {

// A multiple of 32 bits, four to a digit.
std::string random_hex(int bits);

}  // namespace caravan
