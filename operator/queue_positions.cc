#include "operator/queue_positions.h"

#include "kube/api/object.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kGood{15};
constexpr std::chrono::seconds kNoAnswer{60};
constexpr std::chrono::minutes kStands{5};  // what was told, while the server does not answer
constexpr std::chrono::seconds kPatience{3};
// Of a longer queue the server tells no more, so what it leaves out is behind them.
constexpr std::size_t kMostTold = 1000;
// Names of queues are the users': of more than can be alive, what is old goes.
constexpr std::size_t kMostQueues = 1024;

}  // namespace

QueuePositions::Answer QueuePositions::find(const CallContext& context, const std::string& name_space,
                                            const std::string& queue, const std::string& workload) {
  const std::pair key{name_space, queue};
  std::unique_lock lock(mutex_);
  // Of one that is not known yet others hear, meanwhile, that they may be told later.
  const auto known = queues_.try_emplace(key, Queue{.may_be_told = true}).first;
  if (clock_.now() < known->second.good_until) return known->second.answer_for(workload);
  Queue asked{.may_be_told = true, .good_until = silent_until_};
  if (clock_.now() >= silent_until_) {
    known->second.good_until = clock_.now() + kPatience;
    const bool was_silent = silent_until_ != Clock::TimePoint{};
    if (was_silent) silent_until_ = known->second.good_until;  // one asks whether it answers again
    lock.unlock();
    asked = ask(context, name_space, queue);
    lock.lock();
    const bool fails = !asked.is_told && asked.may_be_told;
    silent_until_ = fails ? asked.good_until : Clock::TimePoint{};
  }
  if (queues_.size() > kMostQueues)
    std::erase_if(queues_, [&](const auto& each) { return clock_.now() >= each.second.good_until; });
  Queue& now = queues_[key];
  const bool stands = !asked.is_told && asked.may_be_told && clock_.now() < now.stands_until;
  if (stands) {
    now.good_until = asked.good_until;
  } else {
    now = std::move(asked);
  }
  return now.answer_for(workload);
}

QueuePositions::Answer QueuePositions::Queue::answer_for(const std::string& workload) const {
  Answer answer{.is_told = is_told, .may_be_told = may_be_told, .position = std::nullopt};
  const auto place = positions.find(workload);
  if (place != positions.end()) {
    answer.position = place->second;
  } else if (positions.size() >= kMostTold) {
    answer.position = static_cast<int>(positions.size());
  }
  return answer;
}

QueuePositions::Queue QueuePositions::ask(const CallContext& context, const std::string& name_space,
                                          const std::string& queue) {
  const auto answer =
      client_.get(context.until(clock_.now() + kPatience),
                  {.resource = kVisibleQueues, .name_space = name_space}, queue, kPendingWorkloads);
  if (!answer) {
    const bool never = answer.error().is_not_found() || answer.error().is_forbidden();
    return {.may_be_told = !never, .good_until = clock_.now() + kNoAnswer};
  }
  Queue told{.is_told = true, .good_until = clock_.now() + kGood, .stands_until = clock_.now() + kStands};
  for (const kube::Json& item : kube::array_at(*answer, {"items"})) {
    const auto position = kube::integer_at(item, {"positionInLocalQueue"});
    told.positions[kube::key_of(item).name] = static_cast<int>(position.value_or(0));
  }
  return told;
}

}  // namespace caravan::controller
