// Kubernetes quantities, such as "80Gi": digits, optionally a fraction, and a suffix (Ki Mi Gi Ti Pi Ei, or n
// u m k M G T P E, or an exponent such as e9).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan {

// Whole units, a fraction rounded up as Kubernetes does. Bad input when the text is no quantity, is negative,
// has more than 19 significant digits or does not fit in 63 bits.
Result<std::int64_t> parse_quantity(std::string_view text);

// The same in thousandths, such as of processors: "7500m" is 7500.
Result<std::int64_t> parse_milli_quantity(std::string_view text);

// The shortest exact form with a binary suffix: 85899345920 is "80Gi", 1000 is "1000".
std::string exact_quantity(std::int64_t bytes);

// For display, about three digits: 65712345678 is "61.2Gi".
std::string readable_quantity(std::int64_t bytes);

}  // namespace caravan
