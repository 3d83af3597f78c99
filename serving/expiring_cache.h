// Answers that stand for some seconds. Bounded: when there is no room, what would be forgotten first goes.
// Safe for any thread.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "common/clock.h"

namespace caravan {

template <typename Key, typename Value>
class ExpiringCache {
 public:
  ExpiringCache(Clock& clock, Clock::Duration lifetime, std::size_t most)
      : clock_(clock), lifetime_(lifetime), most_(most) {}

  std::optional<Value> find(const Key& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.until <= clock_.now()) return std::nullopt;
    return found->second.value;
  }

  void keep(const Key& key, Value value) {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    if (const auto known = entries_.find(key); known != entries_.end()) drop(known);
    while (!by_end_.empty() && (by_end_.begin()->first <= now || entries_.size() >= most_))
      drop(entries_.find(by_end_.begin()->second));
    const auto until = now + lifetime_;
    entries_.emplace(key, Entry{std::move(value), until, by_end_.emplace(until, key)});
  }

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return entries_.size();
  }

 private:
  using Ends = std::multimap<Clock::TimePoint, Key>;
  struct Entry {
    Value value;
    Clock::TimePoint until;
    typename Ends::iterator end;
  };

  void drop(typename std::map<Key, Entry>::iterator entry) {
    by_end_.erase(entry->second.end);
    entries_.erase(entry);
  }

  Clock& clock_;
  const Clock::Duration lifetime_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  Ends by_end_;
};

}  // namespace caravan
