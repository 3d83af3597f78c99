// When a decision is to be made again though nothing has changed but the time; nothing: never.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "operator/api/job_object.h"

namespace caravan::controller {

using LookAgain = std::optional<std::chrono::milliseconds>;

inline constexpr std::chrono::milliseconds kSoonest{1};

inline LookAgain until(TimePoint time, TimePoint now) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(time - now), kSoonest);
}

inline LookAgain sooner(LookAgain a, LookAgain b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace caravan::controller
