// When an event of a trace was, in whole nanoseconds: what a rank's clock counts, and its file says in
// microseconds.
#pragma once

#include <cmath>
#include <cstdint>

#include "caravan/v1alpha1/trace.pb.h"

namespace caravan::cli {

inline constexpr double kNanosecondsPerMicrosecond = 1e3;
inline constexpr double kSecondsPerNanosecond = 1e-9;

struct TimedEvent {
  int64_t begin = 0;
  int64_t end = 0;
};

inline TimedEvent times_of(const v1alpha1::TraceEvent& event) {
  const auto nanoseconds = [](double microseconds) {
    return static_cast<int64_t>(std::llround(microseconds * kNanosecondsPerMicrosecond));
  };
  const int64_t begin = nanoseconds(event.ts());
  return {.begin = begin, .end = begin + nanoseconds(event.dur())};
}

}  // namespace caravan::cli
