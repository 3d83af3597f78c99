// When a device comes to what it is given, which the host does not wait for: marks between the pieces of
// work, and the time between two of them.
#pragma once

#include <memory>

namespace caravan::trainer {

class DeviceMark {
 public:
  virtual ~DeviceMark() = default;
};

class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;

  // Behind all that the calling thread's stream was given so far. Of a device that has failed the mark says
  // so when it is asked for its time, since marks are put at the ends of scopes that an exception leaves.
  virtual std::shared_ptr<const DeviceMark> mark() = 0;
  // Waits until the device has come to both. Throws std::runtime_error where the device reports an error,
  // also of work that was begun before.
  virtual double seconds_between(const DeviceMark& first, const DeviceMark& second) = 0;
};

}  // namespace caravan::trainer
