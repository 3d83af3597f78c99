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
constexpr const char* kNobodyIsBehind =
    "all ranks have come to what it was given last: look at the kernel's log of its machine";

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

std::string silence_of(Watchdog::Clock::duration time) {
  return fmt::format("its device has answered nothing for {} s, as while a call of CUDA waits for it",
                     std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::jthread repeating(std::chrono::milliseconds every, std::function<void()> action) {
  return std::jthread([every, action = std::move(action)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any bell;
    std::unique_lock lock(mutex);
    while (!bell.wait_for(lock, stop, every, [&] { return stop.stop_requested(); }) && !stop.stop_requested())
      action();
  });
}

}  // namespace

Watchdog::Watchdog(const WatchdogOptions& options, NoticeBoard& board, Heard heard)
    : options_(options), board_(board), heard_(std::move(heard)) {}

Watchdog::~Watchdog() = default;

void Watchdog::start(std::chrono::milliseconds every) {
  asks_ = repeating(every, [this] { ask(Clock::now); });
  judges_ = repeating(every, [this] { judge(Clock::now()); });
}

void Watchdog::stop() {
  asks_.request_stop();
  judges_.request_stop();
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

bool Watchdog::watches() const {
  const std::scoped_lock lock(mutex_);
  return !verdict_ && !has_stopped_;
}

void Watchdog::ask(const OperationLog::Now& now) {
  if (watches()) log_.ask(now);
}

void Watchdog::ask(Clock::time_point now) {
  ask([now] { return now; });
}

void Watchdog::judge(Clock::time_point now) {
  if (!watches()) return;
  try {
    const Clock::time_point answered = log_.answered();
    std::vector<OperationLog::UnderWay> first = log_.first_under_way();
    find_failure(first);
    hear_the_others(now);
    find_overdue(std::move(first), answered, now);
    find_silence(now);
  } catch (const std::exception& error) {
    // Without the board nobody can be asked. Who is behind it, the first rank, has ended.
    conclude(
        fmt::format("rank {}: the board of the ranks cannot be reached: {}", options_.rank, error.what()),
        /*tell_others=*/false);
  }
}

void Watchdog::find_failure(const std::vector<OperationLog::UnderWay>& first) {
  for (const OperationLog::UnderWay& operation : first) {
    if (!operation.failure) continue;
    conclude(fmt::format("rank {}: {} failed: {}", options_.rank, words_of(operation), *operation.failure),
             /*tell_others=*/true);
    return;
  }
}

void Watchdog::hear_the_others(Clock::time_point now) {
  // One question while all is well: a job may have thousands of ranks.
  if (!board_.find(kAlarm)) return;
  if (const auto verdict = board_.find(kVerdict)) return conclude(*verdict, /*tell_others=*/false);
  if (alarm_ && now - alarm_->raised >= options_.answer_time)
    return conclude(verdict_on(*alarm_), /*tell_others=*/true);
  if (!told_) tell_positions();
}

// The first of them, by time: what stands behind it waits for it. What ended since the device answered is not
// known.
void Watchdog::find_overdue(std::vector<OperationLog::UnderWay> first, Clock::time_point answered,
                            Clock::time_point now) {
  if (alarm_ || first.empty()) return;
  std::ranges::stable_sort(first, {}, &OperationLog::UnderWay::since);
  if (answered - first.front().since < options_.timeout) return;
  alarm_ = Alarm{.operations = std::move(first), .raised = now};
  board_.put(kAlarm, fmt::format("rank {}: {}", options_.rank, words_of(alarm_->operations.front())));
}

// Behind those whose devices answer, who know more.
void Watchdog::find_silence(Clock::time_point now) {
  const auto since = log_.unanswered();
  if (alarm_ || !since || now - *since < options_.timeout + 2 * options_.answer_time) return;
  alarm_ = Alarm{.operations = log_.last_under_way(), .raised = now, .silent_since = since};
  board_.put(kAlarm, fmt::format("rank {}: {}", options_.rank, silence_of(now - *since)));
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
std::string Watchdog::verdict_on(const Alarm& alarm) {
  if (alarm.silent_since) return verdict_on_silence(alarm);
  const auto verdict = [&](const OperationLog::UnderWay& operation, const std::string& why) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(alarm.raised - operation.since);
    return fmt::format("rank {}: {} has not ended within {:g} s: {}", options_.rank, words_of(operation),
                       seconds_of(std::min(age, options_.timeout)), why);
  };
  const OperationLog::UnderWay& overdue = alarm.operations.front();
  for (const OperationLog::UnderWay& operation : alarm.operations) {
    if (!log_.is_under_way(operation)) continue;
    const auto missing = who_is_missing(operation, told_of(operation.lane));
    if (!missing) continue;
    if (&operation == &overdue) return verdict(operation, *missing);
    return verdict(operation, fmt::format("{}; all have come to {}, which has not ended within {:g} s",
                                          *missing, name_of(overdue), seconds_of(options_.timeout)));
  }
  return verdict(overdue, kAllHaveCome);
}

// The device does not say which operation waits: who has not come to the last of a lane holds that up.
std::string Watchdog::verdict_on_silence(const Alarm& alarm) {
  const std::string silence =
      fmt::format("rank {}: {}", options_.rank, silence_of(alarm.raised - *alarm.silent_since));
  for (const OperationLog::UnderWay& operation : alarm.operations) {
    const auto missing = who_is_missing(operation, told_of(operation.lane));
    if (missing) return fmt::format("{}; {}: {}", silence, words_of(operation), *missing);
  }
  return fmt::format("{}; {}", silence, kNobodyIsBehind);
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
