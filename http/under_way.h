// Counts what is under way, so that it can be bounded, and waited for. Outlives all that it gives out. Safe
// for any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace caravan::http {

class UnderWay {
 public:
  // Held while it lasts.
  std::shared_ptr<void> enter() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    return {this, [](UnderWay* self) { self->leave(); }};
  }
  std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return count_;
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

}  // namespace caravan::http
