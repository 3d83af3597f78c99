// Keys that wait: first come, first served within a namespace, while namespaces take turns, so that a
// thousand keys of one do not go before one of another.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/clock.h"
#include "kube/api/object.h"

namespace caravan::kube {

class FairLine {
 public:
  struct Queued {
    ObjectKey key;
    Clock::TimePoint since;
  };

  // The key must not wait here already.
  void push(Queued queued);
  void erase(const ObjectKey& key);
  // The next whose namespace is admitted; that namespace has its next turn after all others.
  template <typename Admits>
  std::optional<Queued> pop(Admits admits) {
    const auto turn = std::find_if(turns_.begin(), turns_.end(), admits);
    if (turn == turns_.end()) return std::nullopt;
    return pop_of(turn);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // When the one that waits longest was pushed; `otherwise` when none waits.
  Clock::TimePoint oldest(Clock::TimePoint otherwise) const;

 private:
  Queued pop_of(const std::deque<std::string>::iterator& turn);

  std::map<std::string, std::deque<Queued>> by_namespace_;  // none is empty
  std::deque<std::string> turns_;                           // those namespaces, the next one first
  std::size_t size_ = 0;
};

}  // namespace caravan::kube
