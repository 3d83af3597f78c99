#include "worker/trainer/comm/nccl/operation_log.h"

#include <utility>

namespace caravan::trainer {
namespace {

// An operation that failed stays, so that somebody sees why.
bool is_over(StreamOperation& operation) {
  return operation.finished() && !operation.error();
}

}  // namespace

void OperationLog::enter(const Lane& lane) {
  const std::scoped_lock lock(mutex_);
  lines_[lane.name].lane = lane;
}

void OperationLog::add(const Lane& lane, std::string words, StartedOperation operation,
                       Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Line& line = lines_.at(lane.name);
  // What is over goes here too: between two looks there may be many.
  forget_what_is_over(line, now);
  if (line.entries.empty()) line.first_since = now;
  line.position = {.issued = line.position.issued + 1, .last = words};
  line.entries.push_back({line.position.issued, std::move(words), std::move(operation)});
}

void OperationLog::forget_what_is_over(Line& line, Clock::time_point now) {
  while (!line.entries.empty() && is_over(*line.entries.front().operation)) {
    line.entries.pop_front();
    line.first_since = now;
  }
}

std::vector<OperationLog::UnderWay> OperationLog::first_under_way(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  std::vector<UnderWay> first;
  for (auto& [name, line] : lines_) {
    forget_what_is_over(line, now);
    if (line.entries.empty()) continue;
    const Entry& entry = line.entries.front();
    first.push_back({line.lane, entry.number, entry.words, line.first_since, entry.operation});
  }
  return first;
}

std::vector<std::pair<Lane, LanePosition>> OperationLog::positions() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<Lane, LanePosition>> positions;
  for (const auto& [name, line] : lines_) positions.emplace_back(line.lane, line.position);
  return positions;
}

}  // namespace caravan::trainer
