// The clock of a step that is traced. A moment is the host's time where the host itself does the work, and
// else a mark on the device's stream, whose time is asked for when the step is over: only making the clock
// and time_of() wait for the device.
//
// A device's times are put on the host's clock, which is read when the device has come to a first mark: all
// are late by what the host takes to notice that. All count from this mark, so moments of a thread stay in
// the order in which it made them, and what lies within something else stays within it.
#pragma once

#include <memory>

#include "common/clock.h"
#include "worker/trainer/trace/device_marks.h"

namespace caravan::trainer {

struct Moment {
  Clock::TimePoint host = {};  // where there is a mark, when the device was given it
  std::shared_ptr<const DeviceMark> device = {};
};

class TraceClock {
 public:
  // Both outlive the clock and its copies; no marks where the host itself does the work. Of the thread that
  // makes it.
  explicit TraceClock(const Clock& host, DeviceMarks* marks = nullptr);

  Moment now() const;
  Clock::TimePoint time_of(const Moment& moment) const;

 private:
  const Clock* host_;
  DeviceMarks* marks_;
  Moment first_;
};

}  // namespace caravan::trainer
