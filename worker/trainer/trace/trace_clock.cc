#include "worker/trainer/trace/trace_clock.h"

#include <chrono>

namespace caravan::trainer {

TraceClock::TraceClock(const Clock& host, DeviceMarks* marks) : host_(&host), marks_(marks) {
  if (marks_ == nullptr) return;
  first_.device = marks_->mark();
  marks_->seconds_between(*first_.device, *first_.device);  // waits
  first_.host = host_->now();
}

Moment TraceClock::now() const {
  return {.host = host_->now(), .device = marks_ == nullptr ? nullptr : marks_->mark()};
}

Clock::TimePoint TraceClock::time_of(const Moment& moment) const {
  if (moment.device == nullptr) return moment.host;
  const std::chrono::duration<double> since(marks_->seconds_between(*first_.device, *moment.device));
  return first_.host + std::chrono::round<Clock::Duration>(since);
}

}  // namespace caravan::trainer
