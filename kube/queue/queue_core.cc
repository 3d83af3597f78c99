#include "kube/queue/queue_core.h"

#include <algorithm>

#include "kube/client/backoff.h"

namespace caravan::kube {

void QueueCore::add(const ObjectKey& key, Urgency urgency, Clock::TimePoint now) {
  if (running_.contains(key)) {
    const auto [again, is_new] = again_.emplace(key, urgency);
    if (!is_new && urgency == Urgency::kLive) again->second = urgency;
    return;
  }
  const auto known = queued_.find(key);
  if (known != queued_.end()) {
    if (known->second == Urgency::kLive || urgency == Urgency::kBackground) return;
    std::erase_if(background_, [&](const Queued& queued) { return queued.key == key; });
  }
  queued_[key] = urgency;
  (urgency == Urgency::kLive ? live_ : background_).push_back({.key = key, .since = now});
}

void QueueCore::add_at(const ObjectKey& key, Clock::TimePoint when) {
  const auto [known, is_new] = delayed_.emplace(key, when);
  if (!is_new) {
    if (known->second <= when) return;
    delayed_by_time_.erase({known->second, key});
    known->second = when;
  }
  delayed_by_time_.insert({when, key});
}

std::optional<ObjectKey> QueueCore::take(Clock::TimePoint now) {
  promote_due(now);
  if (depth() == 0) return std::nullopt;
  const bool background = background_is_next();
  auto& from = background ? background_ : live_;
  live_in_a_row_ = background ? 0 : live_in_a_row_ + 1;
  ObjectKey key = std::move(from.front().key);
  running_[key] = {.since = now, .waited = now - from.front().since};
  from.pop_front();
  queued_.erase(key);
  return key;
}

void QueueCore::done(const ObjectKey& key, Clock::TimePoint now) {
  running_.erase(key);
  if (const auto again = again_.extract(key)) add(key, again.mapped(), now);
}

void QueueCore::retry(const ObjectKey& key, Clock::TimePoint now) {
  const int failures = ++failures_[key];
  add_at(key, now + exponential(policy_.first_retry, policy_.longest_retry, failures));
}

Clock::TimePoint QueueCore::next_due() const {
  return delayed_by_time_.empty() ? Clock::kNever : delayed_by_time_.begin()->first;
}

Clock::Duration QueueCore::oldest_wait(Clock::TimePoint now) const {
  Clock::TimePoint oldest = now;
  if (!live_.empty()) oldest = std::min(oldest, live_.front().since);
  if (!background_.empty()) oldest = std::min(oldest, background_.front().since);
  return now - oldest;
}

Clock::Duration QueueCore::longest_run(Clock::TimePoint now) const {
  Clock::TimePoint oldest = now;
  for (const auto& [key, run] : running_) oldest = std::min(oldest, run.since);
  return now - oldest;
}

bool QueueCore::background_is_next() const {
  if (background_.empty()) return false;
  return live_.empty() || live_in_a_row_ >= policy_.live_per_background;
}

void QueueCore::promote_due(Clock::TimePoint now) {
  while (next_due() <= now) {
    const ObjectKey key = delayed_by_time_.extract(delayed_by_time_.begin()).value().second;
    delayed_.erase(key);
    add(key, Urgency::kLive, now);
  }
}

}  // namespace caravan::kube
