#include "worker/trainer/comm/thread_lane.h"

#include <utility>

namespace caravan::trainer {

ThreadLane::ThreadLane(std::function<void()> begin)
    : thread_([this, begin = std::move(begin)](const std::stop_token& stop) {
        begin();
        run(stop);
      }) {}

std::shared_future<void> ThreadLane::give(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::shared_future<void> done = task.get_future().share();
  const std::scoped_lock lock(mutex_);
  tasks_.push_back(std::move(task));
  bell_.notify_one();
  return done;
}

void ThreadLane::run(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    bell_.wait(lock, stop, [&] { return !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::packaged_task<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace caravan::trainer
