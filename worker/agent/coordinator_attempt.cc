// The life of an attempt: how it begins, what ends it, what it is judged for, and how the job ends with the
// last one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policy/memory_shortage.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "worker/agent/coordinator_state.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using v1alpha1::CoordinatorMessage;

// A clean stop waits for the step that runs, at least so long.
constexpr seconds kCleanStopTimeout{30};
// With a last checkpoint behind that step: what a pod has for its end, less what the end itself takes.
constexpr seconds kCleanStopTimeoutWithCheckpoint = policy::kGraceForCheckpoint - seconds(30);
// How far ahead the last step of a clean stop lies, so that no rank has passed it when it hears of it.
constexpr double kStopNoticeSeconds = 0.5;

seconds patience_with_stop(const CoordinatorConfig& config) {
  return config.writes_checkpoints ? kCleanStopTimeoutWithCheckpoint : kCleanStopTimeout;
}

// A job that is planned again has other agents then.
milliseconds pause_after(const Failure& failure, int short_attempts, int attempt) {
  const milliseconds pause = policy::pause_before_restart(short_attempts);
  const bool may_be_planned_again = failure.shortage && policy::correction_of(*failure.shortage, attempt);
  return may_be_planned_again ? std::max<milliseconds>(pause, policy::kTimeToPlanAgain) : pause;
}

}  // namespace

void CoordinatorState::open_master() {
  attempt_ = ++highest_attempt_;
  made_step_ = false;
  phase_ = Phase::kOpeningMaster;
  phase_since_ = now_;
  CoordinatorMessage message;
  message.mutable_open_master()->set_attempt(attempt_);
  send(0, message);
}

void CoordinatorState::on_master_ready(const v1alpha1::MasterReady& ready) {
  if (!is_current(ready.attempt()) || phase_ != Phase::kOpeningMaster) return;
  begin_attempt(ready.address(), ready.port());
}

void CoordinatorState::begin_attempt(const std::string& address, int port) {
  phase_ = Phase::kRunning;
  phase_since_ = attempt_since_ = now_;
  clock_.start(now_);
  asked_at_.reset();
  stragglers_.reset();
  ranks_.assign(static_cast<std::size_t>(config_.shape.world_size), Rank{});
  finished_ = ended_well_ = fell_silent_ = last_step_ = saved_step_ = 0;
  steps_.reset();
  step_seconds_ = 0;
  nodes_.start_all();
  looked_at_ += config_.shape.nodes + config_.shape.world_size;
  CoordinatorMessage message;
  message.mutable_start_attempt()->set_attempt(attempt_);
  message.mutable_start_attempt()->set_master_address(address);
  message.mutable_start_attempt()->set_master_port(port);
  message.mutable_start_attempt()->set_stall_timeout_seconds(
      static_cast<int>(std::chrono::ceil<std::chrono::seconds>(config_.stall_timeout).count()));
  send_to_all(std::move(message));
  v1alpha1::JobReport told;
  told.mutable_attempt_started()->set_attempt(attempt_);
  *told.mutable_attempt_started()->mutable_ended() = {ended_.begin(), ended_.end()};
  told.mutable_attempt_started()->set_short_attempts(short_attempts_);
  effects_.push_back(Tell{std::move(told)});
  if (const auto request = save_wish_.waiting()) ask_for_checkpoint(*request);
}

void CoordinatorState::on_rank_exit(int node, const v1alpha1::RankExit& exit) {
  if (!is_current(node, exit.attempt(), exit.rank())) return;
  Rank& rank = ranks_[static_cast<std::size_t>(exit.rank())];
  const bool reached_end = rank.finished_step && (*rank.finished_step >= config_.steps || stop_deadline_);
  if (exit.signal() == 0 && exit.exit_code() == 0 && reached_end) {
    if (!std::exchange(rank.ended_well, true)) ++ended_well_;
    if (rank.activity) --answers_;
    return;
  }
  Member& home = nodes_.at(node);
  home.last_death = time_of_death(exit, home.last_death, now_);
  blame_.add({.node = node, .last_step = rank.last_step, .died_at = *home.last_death, .exit = exit}, now_);
  if (phase_ == Phase::kRunning && blame_.a_rank_failed())
    begin_stop(fmt::format("rank {} died", exit.rank()));
}

void CoordinatorState::on_attempt_stopped(int node, const v1alpha1::AttemptStopped& stopped) {
  if (is_current(stopped.attempt())) nodes_.set_stopped(node);
}

// Without the node the attempt cannot go on, and another one may find it able again.
void CoordinatorState::on_attempt_refused(int index, const v1alpha1::AttemptRefused& refused) {
  highest_attempt_ = std::max(highest_attempt_, refused.last_attempt());
  if (!is_current(refused.attempt())) return;
  nodes_.set_stopped(index);
  if (phase_ == Phase::kStopping) return;
  blame_.set_cause(describe_refusal(index, refused.reason()));
  begin_stop(fmt::format("node {} cannot take part", index));
}

void CoordinatorState::check_attempt() {
  if (blame_.is_overdue(now_)) return begin_stop("ranks have lost their connections");
  if (ended_well_ < config_.shape.world_size) check_progress();
  if (phase_ == Phase::kRunning && stop_deadline_ && now_ > *stop_deadline_)
    begin_stop(loss_of_last_checkpoint().empty() ? "its ranks did not end in time"
                                                 : "the last checkpoint was not finished in time");
}

void CoordinatorState::begin_stop(const std::string& reason) {
  phase_ = Phase::kStopping;
  phase_since_ = now_;
  CoordinatorMessage message;
  message.mutable_stop_attempt()->set_attempt(attempt_);
  message.mutable_stop_attempt()->set_reason(reason);
  send_to_all(std::move(message));
}

// After the step that runs, if any has been made.
void CoordinatorState::stop_cleanly(const std::string& reason) {
  if (last_step_ == 0) return begin_stop(reason);
  if (!stop_deadline_) ask_ranks_to_stop();
}

void CoordinatorState::ask_ranks_to_stop() {
  const double notice = step_seconds_ > 0 ? std::ceil(kStopNoticeSeconds / step_seconds_) : 1;
  CoordinatorMessage message;
  message.mutable_stop_after_step()->set_attempt(attempt_);
  message.mutable_stop_after_step()->set_step(
      static_cast<int>(std::min<double>(config_.steps, last_step_ + std::max(1.0, notice))));
  send_to_all(std::move(message));
  const double steps = a_node_leaves() ? 0 : 2 * step_seconds_;
  stop_deadline_ = now_ + patience_with_stop(config_) + milliseconds(static_cast<std::int64_t>(1000 * steps));
}

// What its pod has for its end gets no longer by steps or progress.
bool CoordinatorState::a_node_leaves() {
  looked_at_ += config_.shape.nodes;
  return !nodes_.leaving().empty();
}

// As rank 0 announces it, or all ranks with their last word.
void CoordinatorState::note_progress() {
  clock_.note_progress(now_);
  if (stop_deadline_ && !a_node_leaves())
    stop_deadline_ = std::max(*stop_deadline_, now_ + patience_with_stop(config_));
}

// As the end of a message; empty where it is there, or was not asked for.
std::string CoordinatorState::loss_of_last_checkpoint() const {
  const bool is_lost = config_.writes_checkpoints && stop_deadline_ && saved_step_ < last_step_;
  return is_lost ? "; the last checkpoint was not finished" : "";
}

// Where all nodes but node 0 fell silent, node 0 is cut off more likely than all others; of two nobody knows.
Failure CoordinatorState::failure_of_attempt() const {
  Failure failure = blame_.failure();
  const bool all_fell_silent = config_.shape.nodes > 1 && fell_silent_ == config_.shape.nodes - 1;
  if (failure.reason == reasons::kPodLost && all_fell_silent)
    failure.suspect_node = config_.shape.nodes > 2 ? std::optional(0) : std::nullopt;
  if (failure.reason == reasons::kDeadlineExceeded || failure.reason == reasons::kPreempted)
    failure.what += loss_of_last_checkpoint();
  return failure;
}

policy::Decision CoordinatorState::judge(const Failure& failure) const {
  if (config_.losses_judged_elsewhere && policy::is_of_pods(failure.reason))
    return {.restart = true, .counts = false, .next = "the gang starts again when it is back"};
  policy::Decision decision =
      policy::decide(config_.failure_policy, failure.facts(), budget_, policy::since_epoch(now_));
  const bool is_by_budget =
      decision.restart ? decision.counts : decision.failed_reason == reasons::kMaxRestartsReached;
  if (config_.losses_judged_elsewhere && is_by_budget)
    return {.restart = true, .next = "it counts against failurePolicy.maxRestarts"};
  return decision;
}

void CoordinatorState::conclude_attempt() {
  if (stop_requested_) return end_for_user();
  const Failure failure = failure_of_attempt();
  const policy::Decision decision = judge(failure);
  tell_event(failure, decision);
  if (!decision.restart) {
    const ExitCode code = failure.bad_input ? ExitCode::kBadInput : ExitCode::kJobFailed;
    return end(reasons::kFailed, decision.failed_reason, failure_message(failure, decision.next), code);
  }
  ++restarts_;
  if (decision.counts) policy::count_restart(config_.failure_policy, policy::since_epoch(now_), budget_);
  v1alpha1::EndedAttempt& ended = ended_.emplace_back();
  ended.set_attempt(attempt_);
  ended.set_reason(failure.reason);
  ended.set_counts(decision.counts);
  if (failure.suspect_node) ended.set_suspect_node(*failure.suspect_node);
  if (failure.shortage) *ended.mutable_shortage() = *failure.shortage;
  if (std::ssize(ended_) > policy::kMostEndedAttempts) ended_.pop_front();
  const auto lasted = std::chrono::duration_cast<milliseconds>(now_ - attempt_since_);
  short_attempts_ = policy::short_attempts_after(short_attempts_, made_step_, lasted);
  resume_at_ = now_ + pause_after(failure, short_attempts_, attempt_);
  phase_ = Phase::kBackingOff;
  let_go();
}

void CoordinatorState::forget_attempt() {
  phase_ = Phase::kGathering;
  phase_since_ = now_;
  blame_ = {};
  stop_deadline_.reset();
}

void CoordinatorState::complete_if_all_ended() {
  if (ended_well_ < config_.shape.world_size) return;
  looked_at_ += config_.shape.world_size;
  const auto reached = [this](const Rank& r) { return *r.finished_step >= config_.steps; };
  if (std::all_of(ranks_.begin(), ranks_.end(), reached)) {
    end(reasons::kComplete, reasons::kStepsReached, fmt::format("all {} steps are done", config_.steps),
        ExitCode::kDone);
  } else if (!stop_requested_) {
    begin_stop("its ranks have stopped where they were told to");
  } else {
    end_for_user();
  }
}

void CoordinatorState::end_for_user() {
  end(reasons::kInterrupted, reasons::kStoppedByUser,
      fmt::format("stopped after step {}{}", last_step_, loss_of_last_checkpoint()), ExitCode::kInterrupted);
}

void CoordinatorState::end(const char* result, const std::string& reason, const std::string& message,
                           ExitCode exit_code) {
  phase_ = Phase::kEnded;
  exit_code_ = static_cast<int>(exit_code);
  end_reason_ = reason;
  v1alpha1::JobReport told;
  v1alpha1::JobResult& job = *told.mutable_result();
  job.set_result(result);
  job.set_reason(reason);
  job.set_message(message);
  job.set_exit_code(exit_code_);
  job.set_restarts(restarts_);
  effects_.push_back(Tell{std::move(told)});
  CoordinatorMessage last;
  last.mutable_job_end()->set_exit_code(exit_code_);
  last.mutable_job_end()->set_reason(reason);
  send_to_all(std::move(last));
  effects_.push_back(EndOfJob{exit_code_});
}

void CoordinatorState::tell_event(const Failure& failure, const policy::Decision& decision) {
  v1alpha1::JobReport told;
  v1alpha1::JobEvent& event = *told.mutable_event();
  event.set_reason(failure.reason);
  event.set_attempt(attempt_);
  event.set_rank(failure.rank);
  event.set_message(failure_message(failure, decision.next));
  event.set_restarting(decision.restart);
  event.set_counts(decision.restart && decision.counts);
  if (failure.suspect_node) event.set_suspect_node(*failure.suspect_node);
  if (failure.shortage) *event.mutable_shortage() = *failure.shortage;
  if (failure.reason == reasons::kStalled) event.set_silent_seconds(clock_.silence(now_).count());
  effects_.push_back(Tell{std::move(told)});
}

}  // namespace caravan::agent
