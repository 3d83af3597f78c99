#include "operator/service/progress_board.h"

#include <algorithm>
#include <utility>

#include "operator/api/wall_time.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kBetweenSteps{30};
constexpr std::chrono::milliseconds kBetweenLooks{500};

}  // namespace

std::optional<std::chrono::milliseconds> ProgressBoard::next_look(Entry& entry, Clock::TimePoint now) {
  if (std::exchange(entry.look_is_to_come, true)) return std::nullopt;
  entry.look_at = entry.look_at ? std::max(now, *entry.look_at + kBetweenLooks) : now;
  return std::chrono::ceil<std::chrono::milliseconds>(*entry.look_at - now);
}

void ProgressBoard::follow_wall_clock(Entry& entry) const {
  const Clock::WallTime zero = wall_time_of(Clock::TimePoint(), clock_);
  const auto set_by = zero - std::exchange(entry.wall_zero, zero);
  JobProgress& progress = entry.progress;
  if (progress.event_at) *progress.event_at += set_by;
  if (progress.absence) progress.absence->at += set_by;
}

ProgressBoard::Answer ProgressBoard::take(const Reporter& reporter, const v1alpha1::JobReport& report,
                                          std::string& why) {
  std::optional<std::chrono::milliseconds> look;
  bool is_new_step = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto facts = facts_of_(reporter);  // asked under the lock: forget() comes after this or before it
    if (!facts) return Answer::kUnknownJob;
    const auto checked = check_report(report, *facts, clock_.wall_now());
    if (!checked) {
      why = checked.error().message;
      return Answer::kImpossible;
    }
    Entry& entry = entries_[reporter.job_uid];
    follow_wall_clock(entry);
    const bool news = add_report(*checked, clock_.wall_now(), entry.progress);
    is_new_step =
        checked->has_step() && history_.add(reporter.job_uid, sample_of(checked->step(), clock_.wall_now()));
    const Clock::TimePoint now = clock_.now();
    const bool step_is_due =
        report.has_step() && (!entry.step_told_at || now - *entry.step_told_at >= kBetweenSteps);
    if (step_is_due) entry.step_told_at = now;
    if (news || step_is_due) look = next_look(entry, now);
  }
  if (is_new_step) history_.tell(reporter.job_uid);
  if (look) on_news_(reporter.job, *look);
  return Answer::kTaken;
}

std::optional<JobProgress> ProgressBoard::look_at(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(job_uid);
  if (found == entries_.end()) return std::nullopt;
  found->second.look_is_to_come = false;
  follow_wall_clock(found->second);
  return found->second.progress;
}

void ProgressBoard::ask_for_checkpoint(const std::string& job_uid, const std::string& request) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(job_uid);
  if (found != entries_.end()) found->second.checkpoint_wish = request;
}

std::optional<std::string> ProgressBoard::take_checkpoint_wish(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(job_uid);
  return found == entries_.end() ? std::nullopt : std::exchange(found->second.checkpoint_wish, std::nullopt);
}

void ProgressBoard::ask_to_stop(const std::string& job_uid) {
  std::function<void()> tell;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(job_uid);
    if (found == entries_.end()) return;
    found->second.is_to_stop = true;
    tell = std::exchange(found->second.tell_to_stop, nullptr);
  }
  if (tell) tell();
}

void ProgressBoard::set_way_to_stop(const std::string& job_uid, std::function<void()> tell) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(job_uid);
    if (found == entries_.end()) return;
    if (!found->second.is_to_stop) {
      found->second.tell_to_stop = std::move(tell);
      return;
    }
  }
  tell();
}

void ProgressBoard::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  entries_.erase(job_uid);
  history_.forget(job_uid);
}

}  // namespace caravan::controller
