#include "cli/run/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace caravan::cli {
namespace {

constexpr std::array<std::string_view, 5> kByteUnits = {"B", "KiB", "MiB", "GiB", "TiB"};

std::size_t byte_unit(int64_t bytes) {
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  for (double size = static_cast<double>(bytes); size >= 1023.95 && unit + 1 < kByteUnits.size();
       size /= 1024)
    ++unit;
  return unit;
}

std::string bytes_in(std::size_t unit, int64_t bytes) {
  if (unit == 0) return fmt::format("{}", bytes);
  return fmt::format("{:.1f}", std::ldexp(static_cast<double>(bytes), -10 * static_cast<int>(unit)));
}

}  // namespace

std::string readable_bytes(int64_t bytes) {
  const std::size_t unit = byte_unit(bytes);
  return bytes_in(unit, bytes).append(kByteUnits[unit]);
}

std::string readable_bytes_like(int64_t bytes, int64_t like) {
  return bytes_in(byte_unit(like), bytes);
}

std::string readable_count(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

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

std::size_t display_columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace caravan::cli
