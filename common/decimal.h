// Decimal fractions as the API writes them: strings such as "3e-4", since Kubernetes objects hold no floating
// point.
#pragma once

#include <string_view>

#include "common/result.h"

namespace caravan {

// Digits with optional sign, fraction and exponent; no white space, hexadecimal, "inf" or "nan". Bad input
// when the text is none, or when a double cannot hold it.
Result<double> parse_decimal(std::string_view text);

}  // namespace caravan
