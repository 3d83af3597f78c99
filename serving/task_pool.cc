#include "serving/task_pool.h"

#include <algorithm>

namespace caravan {
namespace {

using Counts = std::map<std::string, std::size_t>;

std::size_t count_of(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

void add_one(Counts& counts, const TaskPool::Peer& peer) {
  for (const std::string& name : {peer.name, peer.group}) ++counts[name];
}

void take_one(Counts& counts, const TaskPool::Peer& peer) {
  for (const std::string& name : {peer.name, peer.group}) {
    if (const auto count = counts.find(name); --count->second == 0) counts.erase(count);
  }
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

bool TaskPool::post(const Peer& peer, Task task) {
  const std::scoped_lock lock(mutex_);
  if (!has_room_for(peer)) return false;
  add_one(waiting_of_, peer);
  waiting_.push_back({peer, std::move(task)});
  changed_.notify_one();
  return true;
}

bool TaskPool::has_room_for(const Peer& peer) const {
  const std::size_t of_peer = count_of(waiting_of_, peer.name);
  const std::size_t in_all = of_peer == 0 ? limits_.waiting_in_all : limits_.waiting;
  if (waiting_.size() >= in_all || of_peer >= limits_.waiting_of_one_peer) return false;
  return peer.group.empty() || count_of(waiting_of_, peer.group) < limits_.waiting / 2;
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
  const std::size_t most_of_a_group = std::max<std::size_t>(1, limits_.threads / 2);
  return std::ranges::find_if(waiting_, [&](const Waiting& one) {
    return count_of(running_of_, one.peer.name) < limits_.running_of_one_peer &&
           (one.peer.group.empty() || count_of(running_of_, one.peer.group) < most_of_a_group);
  });
}

void TaskPool::run(const std::stop_token& stop, std::size_t thread) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return next() != waiting_.end(); }) && !stop.stop_requested()) {
    const auto chosen = next();
    const Waiting one = std::move(*chosen);
    waiting_.erase(chosen);
    take_one(waiting_of_, one.peer);
    add_one(running_of_, one.peer);
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
