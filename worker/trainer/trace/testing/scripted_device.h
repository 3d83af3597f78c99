// A device for tests that works for as long as the test says, from mark to mark. Nobody waits for it in
// truth; it counts how often somebody would.
#pragma once

#include <memory>

#include "worker/trainer/trace/device_marks.h"

namespace caravan::trainer {

class ScriptedDevice final : public DeviceMarks {
 public:
  void work(double seconds) { given_ += seconds; }

  std::shared_ptr<const DeviceMark> mark() override {
    work(seconds_before_mark);
    return std::make_shared<Mark>(given_);
  }
  double seconds_between(const DeviceMark& first, const DeviceMark& second) override {
    ++waits;
    return dynamic_cast<const Mark&>(second).seconds - dynamic_cast<const Mark&>(first).seconds;
  }

  double seconds_before_mark = 0;  // beside what work() says
  int waits = 0;

 private:
  struct Mark final : public DeviceMark {
    explicit Mark(double when) : seconds(when) {}
    double seconds;
  };

  double given_ = 0;
};

}  // namespace caravan::trainer
