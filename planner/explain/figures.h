// Numbers as the planner writes them for people, beside those of common/readable_*.h.
#pragma once

#include <cstdint>
#include <string>

namespace caravan::planner {

// "8.03B", "1.64M": about three digits.
std::string readable_count(double count);

// "12.3 s", "85.1 ms": about three digits, of a step or a part of one.
std::string readable_seconds(double seconds);

// "91.8 %", "more than 99.9 %", of a probability.
std::string readable_chance(double chance);

// "+5 %", "-31 %": how much more than `base`; "+0 %" when it is about the same.
std::string readable_change(double value, double base);

}  // namespace caravan::planner
