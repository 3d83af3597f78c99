#include "kube/queue/fair_line.h"

namespace caravan::kube {

void FairLine::push(Queued queued) {
  const std::string name_space = queued.key.name_space;
  std::deque<Queued>& line = by_namespace_[name_space];
  if (line.empty()) turns_.push_back(name_space);
  line.push_back(std::move(queued));
  ++size_;
}

void FairLine::erase(const ObjectKey& key) {
  const auto line = by_namespace_.find(key.name_space);
  if (line == by_namespace_.end()) return;
  size_ -= std::erase_if(line->second, [&](const Queued& queued) { return queued.key == key; });
  if (!line->second.empty()) return;
  by_namespace_.erase(line);
  std::erase(turns_, key.name_space);
}

FairLine::Queued FairLine::pop_of(const std::deque<std::string>::iterator& turn) {
  const auto line = by_namespace_.find(*turn);
  turns_.erase(turn);
  Queued next = std::move(line->second.front());
  line->second.pop_front();
  --size_;
  if (line->second.empty()) {
    by_namespace_.erase(line);
  } else {
    turns_.push_back(line->first);
  }
  return next;
}

Clock::TimePoint FairLine::oldest(Clock::TimePoint otherwise) const {
  Clock::TimePoint oldest = Clock::kNever;
  for (const auto& [name_space, line] : by_namespace_) oldest = std::min(oldest, line.front().since);
  return empty() ? otherwise : oldest;
}

}  // namespace caravan::kube
