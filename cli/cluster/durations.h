// Durations as users write them: "90s", "15m", "2h", "1d", or a plain number of seconds. Pure.
#pragma once

#include <chrono>
#include <string>

#include "common/result.h"

namespace caravan::cli {

// Positive and at most a year. option: named in the error.
Result<std::chrono::seconds> parse_duration(const std::string& text, const std::string& option);

}  // namespace caravan::cli
