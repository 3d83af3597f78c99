#include "planner/explain/figures.h"

#include <fmt/format.h>

namespace caravan::planner {

std::string readable_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string readable_count(double count) {
  constexpr std::pair<double, char> kUnits[] = {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'k'}};
  for (const auto& [size, unit] : kUnits) {
    if (count >= size) return fmt::format("{:.3g}{}", count / size, unit);
  }
  return fmt::format("{:.3g}", count);
}

std::string readable_seconds(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", 1000 * seconds);
  if (seconds < 100) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{:.0f} s", seconds);
}

}  // namespace caravan::planner
