#include "kube/queue/work_queue.h"

namespace caravan::kube {

void WorkQueue::add(const ObjectKey& key, Urgency urgency) {
  const std::lock_guard guard(mutex_);
  core_.add(key, urgency, clock_.now());
  changed_.notify_one();
}

void WorkQueue::add_after(const ObjectKey& key, std::chrono::milliseconds delay) {
  const std::lock_guard guard(mutex_);
  core_.add_at(key, clock_.now() + delay);
  changed_.notify_all();
}

std::optional<ObjectKey> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto key = core_.take(clock_.now())) return key;
    const Clock::TimePoint due = core_.next_due();
    // A key that became due earlier meanwhile ends the wait too.
    clock_.wait_until(lock, changed_, due, stop, [&] { return core_.depth() > 0 || core_.next_due() < due; });
  }
  return std::nullopt;
}

void WorkQueue::succeeded(const ObjectKey& key) {
  const std::lock_guard guard(mutex_);
  core_.forget(key);
  core_.done(key, clock_.now());
  changed_.notify_all();
}

void WorkQueue::succeeded_and_again(const ObjectKey& key, std::chrono::milliseconds delay) {
  const std::lock_guard guard(mutex_);
  const Clock::TimePoint now = clock_.now();
  core_.forget(key);
  core_.add_at(key, now + delay);
  core_.done(key, now);
  changed_.notify_all();
}

void WorkQueue::failed(const ObjectKey& key) {
  const std::lock_guard guard(mutex_);
  const Clock::TimePoint now = clock_.now();
  core_.retry(key, now);
  core_.done(key, now);
  changed_.notify_all();
}

Clock::Duration WorkQueue::waited(const ObjectKey& key) const {
  const std::lock_guard guard(mutex_);
  return core_.waited(key);
}

Clock::Duration WorkQueue::longest_run() const {
  const std::lock_guard guard(mutex_);
  return core_.longest_run(clock_.now());
}

std::size_t WorkQueue::depth() const {
  const std::lock_guard guard(mutex_);
  return core_.depth();
}

Clock::Duration WorkQueue::oldest_wait() const {
  const std::lock_guard guard(mutex_);
  return core_.oldest_wait(clock_.now());
}

}  // namespace caravan::kube
