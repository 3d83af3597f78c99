#include "planner/explain/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "common/readable_percent.h"

namespace caravan::planner {

std::string readable_count(double count) {
  constexpr std::pair<double, char> kUnits[] = {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'k'}};
  for (const auto& [size, unit] : kUnits) {
    if (count >= size) return fmt::format("{:.3g}{}", count / size, unit);
  }
  return fmt::format("{:.3g}", count);
}

std::string readable_seconds(double seconds) {
  constexpr double kNothing = 5e-6;  // what sums of roundings leave
  if (std::abs(seconds) < kNothing) return "0 s";
  const bool small = seconds < 1;
  const double value = small ? 1000 * seconds : seconds;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, small ? "ms" : "s");
}

std::string readable_chance(double chance) {
  constexpr double kAlmostSure = 0.999;
  return chance > kAlmostSure ? "more than 99.9 %" : readable_percent(chance);
}

std::string readable_change(double value, double base) {
  const auto percent = std::lround(100 * (value / base - 1));
  return fmt::format("{:+} %", percent);
}

}  // namespace caravan::planner
