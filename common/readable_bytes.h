// Bytes as people read them, everywhere in the product: "20.4 GiB".
//
// Rounded for display; whoever computes with a number reads JSON, whose sizes are plain numbers. Fields of
// the API are quantities instead (common/quantity.h). Pure and independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace caravan {

// "512 B", "20.4 GiB", "-1.5 MiB".
std::string readable_bytes(std::int64_t bytes);

// Without a unit, in the unit that readable_bytes picks for `like`: "19.8".
std::string readable_bytes_like(std::int64_t bytes, std::int64_t like);

}  // namespace caravan
