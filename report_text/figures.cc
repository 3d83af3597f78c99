#include "report_text/figures.h"

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

std::string readable_exponent(double value) {
  std::string text = fmt::format("{:.1e}", value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  std::size_t zero = exponent + 2;
  while (zero + 1 < text.size() && text[zero] == '0') text.erase(zero, 1);
  if (text[exponent + 1] == '+') text.erase(exponent + 1, 1);
  return text;
}

std::string readable_percent(double fraction) {
  return fmt::format("{:.1f}%", fraction * 100);
}

}  // namespace caravan
