#include "common/readable_bytes.h"

#include <fmt/format.h>

#include <cmath>

namespace caravan {
namespace {

std::size_t unit_of(std::int64_t bytes) {
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  for (double size = std::abs(static_cast<double>(bytes)); size >= 1023.95 && unit + 1 < kByteUnits.size();
       size /= 1024)
    ++unit;
  return unit;
}

std::string bytes_in(std::size_t unit, std::int64_t bytes) {
  if (unit == 0) return fmt::format("{}", bytes);
  return fmt::format("{:.1f}", std::ldexp(static_cast<double>(bytes), -10 * static_cast<int>(unit)));
}

}  // namespace

ByteUnit byte_unit_of(std::int64_t bytes) {
  const std::size_t unit = unit_of(bytes);
  return {kByteUnits[unit], std::ldexp(1.0, 10 * static_cast<int>(unit))};
}

std::string readable_bytes(std::int64_t bytes) {
  const std::size_t unit = unit_of(bytes);
  return fmt::format("{} {}", bytes_in(unit, bytes), kByteUnits[unit]);
}

std::string readable_bytes_like(std::int64_t bytes, std::int64_t like) {
  return bytes_in(unit_of(like), bytes);
}

}  // namespace caravan
