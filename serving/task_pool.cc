#include "serving/task_pool.h"

#include <algorithm>

namespace caravan {
namespace {

void take_one(std::map<std::string, std::size_t>& counts, const std::string& peer) {
  if (const auto count = counts.find(peer); --count->second == 0) counts.erase(count);
}

}  // namespace

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
  const auto found = waiting_of_.find(peer);
  const bool is_first = found == waiting_of_.end();
  if (waiting_.size() >= (is_first ? limits_.waiting_in_all : limits_.waiting)) return false;
  if (!is_first && found->second >= limits_.waiting_of_one_peer) return false;
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

std::deque<TaskPool::Waiting>::iterator TaskPool::next() {
  return std::ranges::find_if(waiting_, [this](const Waiting& one) {
    const auto running = running_of_.find(one.peer);
    return running == running_of_.end() || running->second < limits_.running_of_one_peer;
  });
}

void TaskPool::run(const std::stop_token& stop, std::size_t thread) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return next() != waiting_.end(); }) && !stop.stop_requested()) {
    const auto chosen = next();
    const Waiting one = std::move(*chosen);
    waiting_.erase(chosen);
    take_one(waiting_of_, one.peer);
    ++running_of_[one.peer];
    running_[thread] = clock_.now();
    lock.unlock();
    one.task(stop);
    lock.lock();
    running_[thread].reset();
    take_one(running_of_, one.peer);
    changed_.notify_one();  // another of this peer may run now
  }
}

}  // namespace caravan
