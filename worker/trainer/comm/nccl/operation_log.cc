#include "worker/trainer/comm/nccl/operation_log.h"

#include <utility>

namespace caravan::trainer {

void OperationLog::enter(const Lane& lane) {
  const std::scoped_lock lock(mutex_);
  lines_[lane.name].lane = lane;
}

void OperationLog::add(const Lane& lane, std::string words, StartedOperation operation,
                       Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Line& line = lines_.at(lane.name);
  if (line.entries.empty()) line.first_since = now;
  line.position = {.issued = line.position.issued + 1, .last = words};
  line.entries.push_back({line.position.issued, std::move(words), std::move(operation)});
}

void OperationLog::ask(const Now& now) {
  const Clock::time_point begin = now();
  {
    const std::scoped_lock lock(mutex_);
    unanswered_ = begin;
  }
  for (const std::string& lane : lanes()) ask_about(lane, now);
  const std::scoped_lock lock(mutex_);
  answered_ = begin;
  unanswered_.reset();
}

// An operation that failed stays, so that somebody sees why.
void OperationLog::ask_about(const std::string& lane, const Now& now) {
  while (const StartedOperation first = first_of(lane)) {
    const bool is_finished = first->finished();
    std::optional<std::string> failure = first->error();
    const bool is_over = is_finished && !failure;
    const Clock::time_point answered = now();
    const std::scoped_lock lock(mutex_);
    Line& line = lines_.at(lane);
    line.failure = std::move(failure);
    if (!is_over) return;
    line.entries.pop_front();
    line.first_since = answered;
  }
}

std::vector<std::string> OperationLog::lanes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, line] : lines_) names.push_back(name);
  return names;
}

StartedOperation OperationLog::first_of(const std::string& lane) const {
  const std::scoped_lock lock(mutex_);
  const std::deque<Entry>& entries = lines_.at(lane).entries;
  return entries.empty() ? StartedOperation() : entries.front().operation;
}

OperationLog::Clock::time_point OperationLog::answered() const {
  const std::scoped_lock lock(mutex_);
  return answered_;
}

std::optional<OperationLog::Clock::time_point> OperationLog::unanswered() const {
  const std::scoped_lock lock(mutex_);
  return unanswered_;
}

OperationLog::UnderWay OperationLog::under_way(const Line& line, const Entry& entry) {
  return {line.lane, entry.number, entry.words, line.first_since, line.failure};
}

std::vector<OperationLog::UnderWay> OperationLog::first_under_way() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UnderWay> first;
  for (const auto& [name, line] : lines_) {
    if (!line.entries.empty()) first.push_back(under_way(line, line.entries.front()));
  }
  return first;
}

std::vector<OperationLog::UnderWay> OperationLog::last_under_way() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UnderWay> last;
  for (const auto& [name, line] : lines_) {
    if (!line.entries.empty()) last.push_back(under_way(line, line.entries.back()));
  }
  return last;
}

bool OperationLog::is_under_way(const UnderWay& operation) const {
  const std::scoped_lock lock(mutex_);
  const std::deque<Entry>& entries = lines_.at(operation.lane.name).entries;
  return !entries.empty() && entries.front().number <= operation.number;
}

std::vector<std::pair<Lane, LanePosition>> OperationLog::positions() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<Lane, LanePosition>> positions;
  for (const auto& [name, line] : lines_) positions.emplace_back(line.lane, line.position);
  return positions;
}

}  // namespace caravan::trainer
