#include "operator/job_ledger.h"

#include <algorithm>
#include <array>
#include <utility>

#include "operator/api/conditions.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

constexpr std::array kCategories{
    TimeCategory::kQueue,  TimeCategory::kStartup,         TimeCategory::kRestore, TimeCategory::kProductive,
    TimeCategory::kRework, TimeCategory::kCheckpointStall, TimeCategory::kStalled, TimeCategory::kTeardown};

double seconds_between(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

bool is_of_steps(std::optional<TimeCategory> category) {
  return category == TimeCategory::kProductive || category == TimeCategory::kRework;
}

// A plan that no devices fit waits for such; one that cannot be made waits for none.
bool asks_for_devices(const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* planned = find_condition(status, conditions::kPlanned);
  return planned != nullptr && (planned->status() == "True" || planned->reason() == reasons::kDoesNotFit);
}

// Where the condition says no more of it, as after another operator was away, by what the coordinator tells.
std::string reason_of_restart(const Snapshot& snapshot, const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* restarting = find_condition(status, conditions::kRestarting);
  if (restarting != nullptr && restarting->status() == "True") return restarting->reason();
  if (snapshot.progress && !snapshot.progress->ended.empty()) return snapshot.progress->ended.back().reason();
  return reasons::kRankFailed;
}

// Of so many seconds as many as were told and are not in the account yet.
void take_out(double& told, TimeCategory as, double& seconds, JobLedger::Account& account) {
  const double part = std::min(told, seconds);
  if (part > 0) account.seconds[as] += part;
  told -= part;
  seconds -= part;
}

}  // namespace

const char* name_of(TimeCategory category) {
  switch (category) {
    case TimeCategory::kQueue:
      return "queue";
    case TimeCategory::kStartup:
      return "startup";
    case TimeCategory::kRestore:
      return "restore";
    case TimeCategory::kProductive:
      return "productive";
    case TimeCategory::kRework:
      return "rework";
    case TimeCategory::kCheckpointStall:
      return "checkpoint_stall";
    case TimeCategory::kStalled:
      return "stalled";
    case TimeCategory::kTeardown:
      break;
  }
  return "teardown";
}

std::optional<TimeCategory> category_of(const Job& job, const v1alpha1::JobStatus& status, bool has_pods,
                                        bool redone) {
  if (!asks_for_devices(status)) return std::nullopt;
  const bool is_over = job.being_deleted || is_finished(status);
  if (is_over || is_true(status, conditions::kSuspended)) {
    if (has_pods) return TimeCategory::kTeardown;
    return !is_over && is_suspended_by_queue(status) ? std::optional(TimeCategory::kQueue) : std::nullopt;
  }
  if (makes_steps(status)) return redone ? TimeCategory::kRework : TimeCategory::kProductive;
  if (is_true(status, conditions::kRunning)) return TimeCategory::kStartup;  // its ranks start
  if (!is_true(status, conditions::kScheduled)) return TimeCategory::kQueue;
  return is_true(status, conditions::kStalled) ? TimeCategory::kStalled : TimeCategory::kStartup;
}

void JobLedger::look(const Snapshot& snapshot, const v1alpha1::JobStatus& status, Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const v1alpha1::JobStatus& before = snapshot.job.status;
  const auto [known, is_new] = entries_.try_emplace(snapshot.job.uid);
  Entry& entry = known->second;
  if (is_new) {
    entry = {.account = {.job = snapshot.job.key},
             .since = now,
             .restarts = before.restarts(),
             .attempt = before.attempt(),
             .highest = before.progress().step()};
  }
  settle(entry, now);
  hear(snapshot, entry);
  const bool has_pods = std::any_of(snapshot.pods.begin(), snapshot.pods.end(),
                                    [](const PodView& pod) { return !pod.ended(); });
  const bool advances = has_new_step(snapshot, entry);
  const auto category = category_of(snapshot.job, status, has_pods, is_redone(snapshot, entry));
  if (advances || !is_of_steps(category)) settle_steps(entry);
  entry.category = category;
  if (entry.category && *entry.category != TimeCategory::kQueue) {
    for (const TimeCategory each : kCategories) entry.account.seconds.try_emplace(each);
    for (const char* reason : reasons::kOfStops) entry.account.restarts.try_emplace(reason);
  }
  if (status.restarts() <= entry.restarts) return;
  entry.account.restarts[reason_of_restart(snapshot, status)] += status.restarts() - entry.restarts;
  entry.restarts = status.restarts();
}

// Up to now.
void JobLedger::settle(Entry& entry, Clock::TimePoint now) {
  double seconds = seconds_between(std::exchange(entry.since, now), now);
  if (!entry.category) return;
  if (is_of_steps(entry.category)) {
    entry.since_step += seconds;
    return;
  }
  if (entry.category == TimeCategory::kStartup)
    take_out(entry.restores, TimeCategory::kRestore, seconds, entry.account);
  entry.account.seconds[*entry.category] += seconds;
}

void JobLedger::settle_steps(Entry& entry) {
  double silence = std::exchange(entry.silence, 0);  // of a start that hung, or before this process, too
  if (!is_of_steps(entry.category)) return;
  double seconds = std::exchange(entry.since_step, 0);
  take_out(silence, TimeCategory::kStalled, seconds, entry.account);
  take_out(entry.stalls, TimeCategory::kCheckpointStall, seconds, entry.account);
  entry.account.seconds[*entry.category] += seconds;
}

void JobLedger::hear(const Snapshot& snapshot, Entry& entry) {
  if (!snapshot.progress) return;
  const JobProgress& progress = *snapshot.progress;
  entry.restores += progress.restore_seconds - entry.restores_told;
  entry.restores_told = progress.restore_seconds;
  entry.stalls += progress.stall_seconds - entry.stalls_told;
  entry.stalls_told = progress.stall_seconds;
  if (!progress.event || progress.event->attempt() <= entry.silent_attempt) return;
  entry.silent_attempt = progress.event->attempt();
  entry.silence = progress.event->silent_seconds();
}

bool JobLedger::has_new_step(const Snapshot& snapshot, Entry& entry) {
  if (!snapshot.progress || !snapshot.progress->step) return false;
  const v1alpha1::JobStep& step = *snapshot.progress->step;
  return std::exchange(entry.step, step.step()) != step.step() || step.attempt() > entry.attempt;
}

bool JobLedger::is_redone(const Snapshot& snapshot, Entry& entry) {
  if (!snapshot.progress || !snapshot.progress->step) return false;
  const v1alpha1::JobStep& step = *snapshot.progress->step;
  if (step.attempt() > entry.attempt) {
    entry.attempt = step.attempt();
    entry.made_before = entry.highest;
  }
  entry.highest = std::max(entry.highest, step.step());
  return step.step() <= entry.made_before;
}

void JobLedger::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  entries_.erase(job_uid);
}

std::map<std::string, JobLedger::Account> JobLedger::accounts(Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Account> all;
  for (auto& [uid, entry] : entries_) {
    settle(entry, now);
    all[uid] = entry.account;
  }
  return all;
}

}  // namespace caravan::controller
