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
    background_.erase(key);
  }
  queued_[key] = urgency;
  line_of(urgency).push({.key = key, .since = now});
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
  const Urgency next = background_is_next() ? Urgency::kBackground : Urgency::kLive;
  const Urgency other = next == Urgency::kLive ? Urgency::kBackground : Urgency::kLive;
  const auto below_its_share = [&](const std::string& name_space) { return !has_its_share(name_space); };
  const auto any = [](const std::string&) { return true; };
  if (auto key = start(next, below_its_share, now)) return key;
  if (auto key = start(other, below_its_share, now)) return key;
  if (auto key = start(next, any, now)) return key;
  return start(other, any, now);
}

template <typename Admits>
std::optional<ObjectKey> QueueCore::start(Urgency urgency, Admits admits, Clock::TimePoint now) {
  auto queued = line_of(urgency).pop(admits);
  if (!queued) return std::nullopt;
  live_in_a_row_ = urgency == Urgency::kLive ? live_in_a_row_ + 1 : 0;
  queued_.erase(queued->key);
  running_[queued->key] = {.since = now, .waited = now - queued->since};
  ++running_of_[queued->key.name_space];
  return std::move(queued->key);
}

void QueueCore::done(const ObjectKey& key, Clock::TimePoint now) {
  running_.erase(key);
  const auto of_its_namespace = running_of_.find(key.name_space);
  if (--of_its_namespace->second == 0) running_of_.erase(of_its_namespace);
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
  return now - std::min(live_.oldest(now), background_.oldest(now));
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

bool QueueCore::has_its_share(const std::string& name_space) const {
  const auto running = running_of_.find(name_space);
  return running != running_of_.end() && running->second >= policy_.share_of_a_namespace;
}

void QueueCore::promote_due(Clock::TimePoint now) {
  while (next_due() <= now) {
    const ObjectKey key = delayed_by_time_.extract(delayed_by_time_.begin()).value().second;
    delayed_.erase(key);
    add(key, Urgency::kLive, now);
  }
}

}  // namespace caravan::kube
