// Numbers as the planner writes them for people.
#pragma once

#include <cstdint>
#include <string>

namespace caravan::planner {

// "61.2 GiB": binary units, one digit after the point.
std::string readable_bytes(int64_t bytes);

// "8.03B", "1.64M": about three digits.
std::string readable_count(double count);

// "12.3 s", "85 ms".
std::string readable_seconds(double seconds);

}  // namespace caravan::planner
