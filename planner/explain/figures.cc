#include "planner/explain/figures.h"

#include <fmt/format.h>

#include <cmath>

namespace caravan::planner {

std::string readable_count(double count) {
  constexpr std::pair<double, char> kUnits[] = {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'k'}};
  for (const auto& [size, unit] : kUnits) {
    if (count >= size) return fmt::format("{:.3g}{}", count / size, unit);
  }
  return fmt::format("{:.3g}", count);
}

std::string readable_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  const bool small = seconds < 1;
  const double value = small ? 1000 * seconds : seconds;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, small ? "ms" : "s");
}

std::string readable_duration(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return readable_seconds(seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.1f} minutes", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.1f} hours", seconds / kHour);
  return fmt::format("{:.1f} days", seconds / kDay);
}

std::string readable_percent(double fraction) {
  return fmt::format("{:.{}f} %", 100 * fraction, fraction < 0.00995 && fraction > 0 ? 1 : 0);
}

std::string readable_chance(double chance) {
  constexpr double kAlmostSure = 0.999;
  return chance > kAlmostSure ? "more than 99.9 %" : fmt::format("{:.1f} %", 100 * chance);
}

std::string readable_change(double value, double base) {
  const auto percent = std::lround(100 * (value / base - 1));
  return fmt::format("{:+} %", percent);
}

}  // namespace caravan::planner
