// The words around a drawn schedule, and what is too large to be drawn.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"
#include "planner/schedule/schedule.h"

namespace caravan::cli {

inline constexpr int kMostStages = 256;
inline constexpr int kMostMicroBatches = 4096;
inline constexpr int kMostChunks = 26;  // each has a letter
inline constexpr int kMostSegments = 64;
inline constexpr int64_t kMostUnits = 500'000;  // more are neither seen nor read

Status check_drawable(const planner::ScheduleSpec& spec);

std::string title_of(const planner::ScheduleSpec& spec);

// What letters and numbers of a timeline mean.
std::string legend_of(const planner::ScheduleSpec& spec);

}  // namespace caravan::cli
