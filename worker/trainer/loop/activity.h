// What a rank does right now, for those who ask while the thread that trains may be stuck: who waits in a
// collective that never ends cannot answer. Threads write and read as they like.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace caravan::trainer {

// See RankActivity.
struct Activity {
  std::string phase = "start";
  std::string operation = {};  // while it waits for other ranks
  std::string axis = {};
  std::optional<int> peer = {};  // along the axis
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

// See RankSaving.
struct Saving {
  std::string doing;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

class ActivityBoard {
 public:
  void show(Activity activity) {
    const std::scoped_lock lock(mutex_);
    shown_ = std::move(activity);
  }
  Activity shown() const {
    const std::scoped_lock lock(mutex_);
    return shown_;
  }
  void show_saving(std::optional<Saving> saving) {
    const std::scoped_lock lock(mutex_);
    saving_ = std::move(saving);
  }
  std::optional<Saving> shown_saving() const {
    const std::scoped_lock lock(mutex_);
    return saving_;
  }

 private:
  mutable std::mutex mutex_;
  Activity shown_;
  std::optional<Saving> saving_;
};

}  // namespace caravan::trainer
