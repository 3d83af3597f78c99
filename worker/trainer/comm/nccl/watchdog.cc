#include "worker/trainer/comm/nccl/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace caravan::trainer {
namespace {

constexpr const char* kAlarm = "alarm";
constexpr const char* kVerdict = "verdict";
constexpr const char* kAllHaveCome =
    "all ranks have come to it, so a device or a link between devices is stuck: look at the kernel's log of "
    "the machines";

std::string position_key(const Lane& lane, int member) {
  return fmt::format("position/{}/{}", lane.name, member);
}

std::string name_of(const OperationLog::UnderWay& operation) {
  return fmt::format("operation number {} in {}, {}", operation.number, operation.lane.name, operation.words);
}

std::string words_of(const OperationLog::UnderWay& operation) {
  return fmt::format("{}, as rank {} of the group", name_of(operation), operation.lane.rank);
}

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Watchdog::Watchdog(const WatchdogOptions& options, NoticeBoard& board, Heard heard)
    : options_(options), board_(board), heard_(std::move(heard)) {}

Watchdog::~Watchdog() = default;

void Watchdog::start(std::chrono::milliseconds every) {
  thread_ = std::jthread([this, every](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any bell;
    std::unique_lock lock(mutex);
    while (!bell.wait_for(lock, stop, every, [&] { return stop.stop_requested(); }) && !stop.stop_requested())
      look(Clock::now());
  });
}

void Watchdog::stop() {
  thread_.request_stop();
  const std::scoped_lock lock(mutex_);
  has_stopped_ = true;
}

void Watchdog::enter(const Lane& lane) {
  log_.enter(lane);
}

void Watchdog::guard(const std::shared_ptr<StreamGroup>& group) {
  const std::scoped_lock lock(mutex_);
  groups_.push_back(group);
}

void Watchdog::throw_if_lost() const {
  const std::scoped_lock lock(mutex_);
  if (verdict_) throw CommunicationError(*verdict_);
}

void Watchdog::note(const Lane& lane, std::string words, const StartedOperation& operation) {
  log_.add(lane, std::move(words), operation, Clock::now());
}

void Watchdog::look(Clock::time_point now) {
  {
    const std::scoped_lock lock(mutex_);
    if (verdict_ || has_stopped_) return;
  }
  try {
    std::vector<OperationLog::UnderWay> first = log_.first_under_way(now);
    find_failure(first);
    hear_the_others(now);
    find_overdue(std::move(first), now);
  } catch (const std::exception& error) {
    // Without the board nobody can be asked. Who is behind it, the first rank, has ended.
    conclude(
        fmt::format("rank {}: the board of the ranks cannot be reached: {}", options_.rank, error.what()),
        /*tell_others=*/false);
  }
}

void Watchdog::find_failure(const std::vector<OperationLog::UnderWay>& first) {
  for (const OperationLog::UnderWay& operation : first) {
    const std::optional<std::string> why = operation.operation->error();
    if (!why) continue;
    conclude(fmt::format("rank {}: {} failed: {}", options_.rank, words_of(operation), *why), true);
    return;
  }
}

void Watchdog::hear_the_others(Clock::time_point now) {
  // One question while all is well: a job may have thousands of ranks.
  if (!board_.find(kAlarm)) return;
  if (const auto verdict = board_.find(kVerdict)) return conclude(*verdict, /*tell_others=*/false);
  if (alarm_ && now - alarm_->raised >= options_.answer_time)
    return conclude(judge(*alarm_), /*tell_others=*/true);
  if (!told_) tell_positions();
}

// The first of them, by time: what stands behind it waits for it.
void Watchdog::find_overdue(std::vector<OperationLog::UnderWay> first, Clock::time_point now) {
  if (alarm_ || first.empty()) return;
  std::ranges::stable_sort(first, {}, &OperationLog::UnderWay::since);
  if (now - first.front().since < options_.timeout) return;
  alarm_ = Alarm{std::move(first), now};
  board_.put(kAlarm, fmt::format("rank {}: {}", options_.rank, words_of(alarm_->first.front())));
}

void Watchdog::tell_positions() {
  for (const auto& [lane, position] : log_.positions())
    board_.put(position_key(lane, lane.rank), position_text(position, options_.rank));
  told_ = true;
}

std::map<int, ToldPosition> Watchdog::told_of(const Lane& lane) {
  std::map<int, ToldPosition> told;
  for (const int member : lane.members) {
    const auto text = board_.find(position_key(lane, member));
    if (!text) continue;
    if (const auto position = read_position(*text)) told[member] = *position;
  }
  return told;
}

// An operation to which all have come may stand still because of another lane, in which somebody is missing.
// What has ended since the alarm holds nobody up.
std::string Watchdog::judge(const Alarm& alarm) {
  const auto verdict_on = [&](const OperationLog::UnderWay& operation, const std::string& why) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(alarm.raised - operation.since);
    return fmt::format("rank {}: {} has not ended within {:g} s: {}", options_.rank, words_of(operation),
                       seconds_of(std::min(age, options_.timeout)), why);
  };
  const OperationLog::UnderWay& overdue = alarm.first.front();
  for (const OperationLog::UnderWay& operation : alarm.first) {
    if (operation.operation->finished()) continue;
    const auto missing = who_is_missing(operation, told_of(operation.lane));
    if (!missing) continue;
    if (&operation == &overdue) return verdict_on(operation, *missing);
    return verdict_on(operation, fmt::format("{}; all have come to {}, which has not ended within {:g} s",
                                             *missing, name_of(overdue), seconds_of(options_.timeout)));
  }
  return verdict_on(overdue, kAllHaveCome);
}

// Who cannot be told sees the same sooner or later.
void Watchdog::tell_verdict(const std::string& verdict) {
  try {
    board_.put(kVerdict, verdict);
    board_.put(kAlarm, verdict);
  } catch (const std::exception& error) {
    fmt::print(stderr, "caravan-trainer: the other ranks cannot be told: {}\n", error.what());
  }
}

void Watchdog::conclude(const std::string& verdict, bool tell_others) {
  std::vector<std::shared_ptr<StreamGroup>> groups;
  {
    const std::scoped_lock lock(mutex_);
    if (verdict_ || has_stopped_) return;
    verdict_ = verdict;
    for (const auto& each : groups_) {
      if (auto group = each.lock()) groups.push_back(std::move(group));
    }
  }
  if (heard_) heard_(verdict);
  if (tell_others) tell_verdict(verdict);
  for (const auto& group : groups) group->abort();
}

}  // namespace caravan::trainer
