// Numbers as the planner writes them for people.
#pragma once

#include <cstdint>
#include <string>

namespace caravan::planner {

// "8.03B", "1.64M": about three digits.
std::string readable_count(double count);

// "12.3 s", "85 ms".
std::string readable_seconds(double seconds);

// "12.3 s", "45.0 minutes", "7.5 hours", "14.3 days".
std::string readable_duration(double seconds);

// "12 %", "0.6 %", of a fraction.
std::string readable_percent(double fraction);

// "91.8 %", "more than 99.9 %", of a probability.
std::string readable_chance(double chance);

// "+5 %", "-31 %": how much more than `base`; "+0 %" when it is about the same.
std::string readable_change(double value, double base);

}  // namespace caravan::planner
