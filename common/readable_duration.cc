#include "common/readable_duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caravan {

std::string readable_duration(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f}s", std::max(seconds, 0.0));
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace caravan
