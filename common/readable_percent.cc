#include "common/readable_percent.h"

#include <fmt/format.h>

namespace caravan {

std::string readable_percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string readable_rough_percent(double fraction) {
  // 0.995 would be printed as 1.0.
  const bool is_below_one = fraction > 0 && fraction < 0.00995;
  return fmt::format("{:.{}f} %", 100 * fraction, is_below_one ? 1 : 0);
}

}  // namespace caravan
