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

  // Behind all that the calling thread's stream was given so far.
  virtual std::shared_ptr<const DeviceMark> mark() = 0;
  // Waits until the device has come to both.
  virtual double seconds_between(const DeviceMark& first, const DeviceMark& second) = 0;
};

}  // namespace caravan::trainer
