#include "serving/task_pool.h"

#include <algorithm>

namespace caravan {

TaskPool::TaskPool(Clock& clock, const Limits& limits)
    : clock_(clock), limits_(limits), running_(limits.threads) {
  for (std::size_t i = 0; i < limits.threads; ++i)
    threads_.emplace_back([this, i](const std::stop_token& stop) { run(stop, i); });
}

// All are asked before the first is waited for.
TaskPool::~TaskPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

bool TaskPool::post(const std::string& peer, Task task) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() >= limits_.waiting) return false;
  const auto found = waiting_of_.find(peer);
  if (found != waiting_of_.end() && found->second >= limits_.waiting_of_one_peer) return false;
  ++waiting_of_[peer];
  waiting_.push_back({peer, std::move(task)});
  changed_.notify_one();
  return true;
}

Clock::Duration TaskPool::longest_run() const {
  const std::scoped_lock lock(mutex_);
  Clock::Duration longest{0};
  for (const auto& since : running_) {
    if (since) longest = std::max(longest, clock_.now() - *since);
  }
  return longest;
}

void TaskPool::run(const std::stop_token& stop, std::size_t thread) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); }) && !stop.stop_requested()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (const auto of_peer = waiting_of_.find(next.peer); --of_peer->second == 0) waiting_of_.erase(of_peer);
    running_[thread] = clock_.now();
    lock.unlock();
    next.task(stop);
    lock.lock();
    running_[thread].reset();
  }
}

}  // namespace caravan
