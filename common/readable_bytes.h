// Bytes as people read them, everywhere in the product: "20.4 GiB".
//
// Rounded for display; whoever computes with a number reads JSON, whose sizes are plain numbers. Fields of
// the API are quantities instead (common/quantity.h). Pure and independent of the locale.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace caravan {

inline constexpr std::array<std::string_view, 6> kByteUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

struct ByteUnit {
  std::string_view name;
  double bytes = 1;
};

// The unit that readable_bytes picks, such as for the axis of a chart up to that.
ByteUnit byte_unit_of(std::int64_t bytes);

// "512 B", "20.4 GiB", "-1.5 MiB".
std::string readable_bytes(std::int64_t bytes);

// Without a unit, in the unit that readable_bytes picks for `like`: "19.8".
std::string readable_bytes_like(std::int64_t bytes, std::int64_t like);

}  // namespace caravan
