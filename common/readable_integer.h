// Integers as people read them, everywhere in the product: "1,234,567". Pure and independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace caravan {

std::string readable_integer(std::int64_t number);

}  // namespace caravan
