#include "worker/agent/coordinator_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/memory_shortage.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

// An agent that cannot end its ranks for so long is given up.
constexpr seconds kStopTimeout{60};
// What is told of the attempts before with each new one.
constexpr std::size_t kMostEnded = 100;
// A clean stop waits for the step that runs, at least so long.
constexpr seconds kCleanStopTimeout{30};
// With a last checkpoint behind that step: what a pod has for its end, less what the end itself takes.
constexpr seconds kCleanStopTimeoutWithCheckpoint = policy::kGraceForCheckpoint - seconds(30);
// A rank that dies closes its connections before its end can be seen, so that others may end first.
constexpr milliseconds kCauseMayFollow{500};
// How far ahead the last step of a clean stop lies, so that no rank has passed it when it hears of it.
constexpr double kStopNoticeSeconds = 0.5;

policy::Budget budget_of(const CoordinatorConfig& config, TimePoint now) {
  if (config.counted_restarts == 0) return {};
  return {.used = config.counted_restarts, .window_start = policy::since_epoch(now - config.window_age)};
}

// A job that is planned again has other agents then.
milliseconds pause_after(const Failure& failure, int short_attempts, int attempt) {
  const milliseconds pause = policy::pause_before_restart(short_attempts);
  const bool may_be_planned_again = failure.shortage && policy::correction_of(*failure.shortage, attempt);
  return may_be_planned_again ? std::max<milliseconds>(pause, policy::kTimeToPlanAgain) : pause;
}

}  // namespace

CoordinatorState::CoordinatorState(CoordinatorConfig config, TimePoint now)
    : config_(std::move(config)),
      now_(now),
      phase_since_(now),
      job_since_(now - config_.elapsed),
      heartbeat_sent_(now),
      nodes_checked_(now),
      nodes_(config_.shape.nodes),
      highest_attempt_(config_.first_attempt - 1),
      steps_(config_.shape.world_size, config_.device_peak_flops),
      stragglers_(config_.shape.world_size, config_.ranks_per_stage),
      slowdowns_sent_(now),
      restarts_(config_.restarts),
      budget_(budget_of(config_, now)),
      short_attempts_(config_.short_attempts),
      resume_at_(now) {}

Effects CoordinatorState::step(const Input& input, TimePoint now) {
  now_ = now;
  effects_.clear();
  std::visit([this](const auto& fact) { handle(fact); }, input);
  advance();
  return std::move(effects_);
}

void CoordinatorState::handle(const FromAgent& input) {
  const AgentMessage& message = input.message;
  if (message.has_hello()) return join(input.connection, message.hello());
  const std::optional<int> node = nodes_.node_of(input.connection);
  if (!node) {
    ++refused_messages_;
    return;
  }
  nodes_.at(*node).heard = now_;
  switch (message.message_case()) {
    case AgentMessage::kMasterReady:
      return on_master_ready(message.master_ready());
    case AgentMessage::kRankUpdate:
      return on_rank_update(*node, message.rank_update());
    case AgentMessage::kRankExit:
      return on_rank_exit(*node, message.rank_exit());
    case AgentMessage::kAttemptStopped:
      return on_attempt_stopped(*node, message.attempt_stopped());
    case AgentMessage::kAttemptRefused:
      return on_attempt_refused(*node, message.attempt_refused());
    case AgentMessage::kLeaving:
      return on_leaving(*node);
    default:
      return;
  }
}

void CoordinatorState::handle(const ConnectionLost& input) {
  if (const auto node = nodes_.node_of(input.connection)) lose(*node, "its connection ended");
}

void CoordinatorState::handle(const StopRequested&) {
  const bool again = std::exchange(stop_requested_, true);
  if (phase_ != Phase::kRunning) return;
  if (again) return begin_stop("stopped by the user");
  stop_cleanly("stopped by the user");
}

void CoordinatorState::handle(const SaveRequested& asked) {
  switch (save_wish_.ask(asked.request)) {
    case SaveWish::Next::kPass:
      return ask_for_checkpoint(asked.request);
    case SaveWish::Next::kRepeatAnswer: {
      v1alpha1::JobReport told;
      *told.mutable_checkpoint() = save_wish_.repeated_answer();
      effects_.push_back(Tell{std::move(told)});
      return;
    }
    case SaveWish::Next::kWait:
      return;
  }
}

// The first rank decides for all, and lives on the first node.
void CoordinatorState::ask_for_checkpoint(const std::string& request) {
  if (phase_ != Phase::kRunning) return;
  CoordinatorMessage message;
  message.mutable_save_checkpoint()->set_attempt(attempt_);
  message.mutable_save_checkpoint()->set_request(request);
  send(0, message);
}

void CoordinatorState::handle(const Limits& limits) {
  config_.failure_policy = limits.failure_policy;
  config_.stall_timeout = limits.stall_timeout;
}

void CoordinatorState::handle(const Tick&) {
  if (phase_ != Phase::kEnded && now_ - nodes_checked_ >= config_.heartbeat / 4) check_nodes();
  if (now_ - heartbeat_sent_ < config_.heartbeat) return;
  heartbeat_sent_ = now_;
  CoordinatorMessage beat;
  beat.mutable_heartbeat();
  send_to_all(std::move(beat));
}

void CoordinatorState::join(ConnectionId connection, const v1alpha1::AgentHello& hello) {
  if (hello.job_uid() != config_.job_uid) {
    effects_.push_back(Disconnect{
        connection, fmt::format("this coordinator runs job {}, not {}", config_.job_uid, hello.job_uid())});
    return;
  }
  if (hello.node() < 0 || hello.node() >= config_.shape.nodes) {
    effects_.push_back(Disconnect{
        connection, fmt::format("there is no node {}: the job has {}", hello.node(), config_.shape.nodes)});
    return;
  }
  if (const auto other = nodes_.node_of(connection); other && *other != hello.node()) {
    effects_.push_back(Disconnect{connection, fmt::format("it speaks for node {} already", *other)});
    return lose(*other, "its connection spoke for another node");
  }
  if (phase_ != Phase::kEnded && nodes_.is_superseded(hello)) return supersede(connection);
  if (!hello.only_asks()) take_place(connection, hello);
  CoordinatorMessage message;
  if (phase_ == Phase::kEnded) {
    message.mutable_job_end()->set_exit_code(exit_code_);
    message.mutable_job_end()->set_reason(end_reason_);
  } else {
    message.mutable_welcome()->set_heartbeat_milliseconds(static_cast<int>(config_.heartbeat.count()));
    message.mutable_welcome()->set_patience_milliseconds(static_cast<int>(config_.patience.count()));
    message.mutable_welcome()->set_lets_go(true);
  }
  effects_.push_back(SendTo{{connection}, std::move(message)});
}

void CoordinatorState::supersede(ConnectionId connection) {
  CoordinatorMessage message;
  message.mutable_superseded();
  effects_.push_back(SendTo{{connection}, std::move(message)});
}

void CoordinatorState::take_place(ConnectionId connection, const v1alpha1::AgentHello& hello) {
  const std::optional<ConnectionId> before = nodes_.at(hello.node()).connection;
  if (before && *before != connection) {
    if (nodes_.is_another(hello)) {
      supersede(*before);
      leave(hello.node(), "a newer one took its place");
    } else {
      lose(hello.node(), "it joined anew");
    }
  }
  nodes_.join(connection, hello, now_);
  highest_attempt_ = std::max(highest_attempt_, hello.last_attempt());
}

bool CoordinatorState::is_current(int attempt) {
  const bool under_way =
      phase_ == Phase::kOpeningMaster || phase_ == Phase::kRunning || phase_ == Phase::kStopping;
  if (attempt == attempt_ && under_way) return true;
  ++refused_messages_;
  return false;
}

bool CoordinatorState::is_current(int node, int attempt, int rank) {
  if (!is_current(attempt)) return false;
  if (phase_ != Phase::kOpeningMaster && config_.shape.owns(node, rank)) return true;
  ++refused_messages_;
  return false;
}

void CoordinatorState::on_master_ready(const v1alpha1::MasterReady& ready) {
  if (!is_current(ready.attempt()) || phase_ != Phase::kOpeningMaster) return;
  begin_attempt(ready.address(), ready.port());
}

void CoordinatorState::on_rank_update(int node, const v1alpha1::RankUpdate& update) {
  if (!is_current(node, update.attempt(), update.rank())) return;
  Rank& rank = ranks_[static_cast<std::size_t>(update.rank())];
  const v1alpha1::RankReport& report = update.report();
  if (report.has_started()) {
    rank.started = true;
    v1alpha1::JobReport told;
    *told.mutable_rank_started() = report.started();
    told.mutable_rank_started()->set_rank(update.rank());
    effects_.push_back(Tell{std::move(told)});
  } else if (report.has_checkpoint()) {
    if (update.rank() == 0) on_checkpoint(report.checkpoint());
  } else if (report.has_finished()) {
    rank.finished_step = report.finished().step();
  } else if (report.has_interlude()) {
    if (update.rank() != 0) return;
    clock_.note_progress(now_);
    clock_.expect_delay(report.interlude().delayed_step());
  } else if (report.has_activity()) {
    on_activity(update.rank(), report.activity());
  } else if (report.has_step()) {
    on_step(update.rank(), report.step());
  }
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
  deaths_.push_back({.node = node, .last_step = rank.last_step, .died_at = *home.last_death, .exit = exit});
  only_symptoms_ = only_symptoms_ && is_symptom(deaths_.back());
  if (phase_ != Phase::kRunning) return;
  if (!only_symptoms_) return begin_stop(fmt::format("rank {} died", exit.rank()));
  if (!cause_awaited_) cause_awaited_ = now_ + kCauseMayFollow;
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
  cause_ = describe_refusal(index, refused.reason());
  begin_stop(fmt::format("node {} cannot take part", index));
}

// Its ranks hold it, and those of others wait for them.
void CoordinatorState::on_leaving(int node) {
  nodes_.at(node).leaving = true;
  if (phase_ != Phase::kRunning) return lose(node, "it was told to end");
  if (stop_deadline_) return;
  cause_ = describe_leaving(node);
  if (config_.writes_checkpoints) return stop_cleanly(fmt::format("node {} leaves", node));
  begin_stop(fmt::format("node {} leaves", node));
}

void CoordinatorState::let_go() {
  looked_at_ += config_.shape.nodes;
  for (const int node : nodes_.leaving()) lose(node, "it was told to end");
}

void CoordinatorState::lose(int node, const std::string& how) {
  if (phase_ != Phase::kEnded) effects_.push_back(Disconnect{*nodes_.at(node).connection, how});
  leave(node, how);
}

void CoordinatorState::leave(int index, const std::string& how) {
  const bool was_told_to_end = nodes_.at(index).leaving;
  nodes_.leave(index);
  if (phase_ == Phase::kRunning ||
      (phase_ == Phase::kStopping && only_symptoms_ && !cause_ && !stop_requested_)) {
    cause_ = was_told_to_end ? describe_leaving(index) : describe_lost_node(index, how);
  }
  if (phase_ == Phase::kRunning) begin_stop(fmt::format("node {} was lost", index));
  if (phase_ == Phase::kOpeningMaster) forget_attempt();
}

void CoordinatorState::advance() {
  if (phase_ != Phase::kEnded) check_clocks();
  if (phase_ == Phase::kStopping && nodes_.all_stopped()) conclude_attempt();
  if (phase_ == Phase::kRunning) complete_if_all_ended();
  if (phase_ == Phase::kBackingOff && now_ >= resume_at_) forget_attempt();
  const bool idle =
      phase_ == Phase::kGathering || phase_ == Phase::kOpeningMaster || phase_ == Phase::kBackingOff;
  if (idle && stop_requested_) {
    return end(reasons::kInterrupted, reasons::kStoppedByUser, "stopped by the user", ExitCode::kInterrupted);
  }
  if (phase_ == Phase::kGathering && nodes_.all_connected()) open_master();
}

void CoordinatorState::check_nodes() {
  nodes_checked_ = now_;
  looked_at_ += config_.shape.nodes;
  for (int i = 0; i < config_.shape.nodes; ++i) {
    const Member& node = nodes_.at(i);
    if (!node.connection) continue;
    const auto silence = now_ - node.heard;
    if (silence > config_.patience) {
      lose(i, fmt::format("no heartbeat for {:.1f} s", std::chrono::duration<double>(silence).count()));
    } else if (phase_ == Phase::kStopping && !node.stopped && now_ - phase_since_ > kStopTimeout) {
      lose(i, fmt::format("its ranks did not end within {} s", kStopTimeout.count()));
    }
  }
}

void CoordinatorState::check_clocks() {
  const bool is_stopped_for_good = cause_ && cause_->reason != reasons::kPreempted;
  if (config_.active_deadline && now_ - job_since_ >= *config_.active_deadline && !is_stopped_for_good) {
    const Failure late = describe_deadline(*config_.active_deadline);
    if (phase_ == Phase::kRunning) {
      cause_ = late;
      begin_stop("the deadline is over");
    } else if (phase_ != Phase::kStopping) {
      end(reasons::kFailed, reasons::kDeadlineExceeded, failure_message(late, "the job ends"),
          ExitCode::kJobFailed);
    }
  }
  if (phase_ == Phase::kRunning && cause_awaited_ && now_ >= *cause_awaited_)
    begin_stop("ranks have lost their connections");
  if (phase_ == Phase::kRunning && ended_well_ < config_.shape.world_size) check_progress();
  if (phase_ == Phase::kRunning && stop_deadline_ && now_ > *stop_deadline_)
    begin_stop("the step did not end in time");
  const bool waiting = phase_ == Phase::kGathering || phase_ == Phase::kOpeningMaster;
  if (waiting && now_ - phase_since_ > config_.rejoin_timeout) {
    const std::string missing = nodes_.missing();
    end(reasons::kFailed, reasons::kPodLost,
        fmt::format("waited {} s for {}; see whether its agent can start and reach the coordinator",
                    config_.rejoin_timeout.count(),
                    missing.empty() ? "node 0 to open the ranks' meeting point" : missing),
        ExitCode::kJobFailed);
  }
}

void CoordinatorState::open_master() {
  attempt_ = ++highest_attempt_;
  made_step_ = false;
  phase_ = Phase::kOpeningMaster;
  phase_since_ = now_;
  CoordinatorMessage message;
  message.mutable_open_master()->set_attempt(attempt_);
  send(0, message);
}

void CoordinatorState::begin_attempt(const std::string& address, int port) {
  phase_ = Phase::kRunning;
  phase_since_ = attempt_since_ = now_;
  clock_.start(now_);
  asked_at_.reset();
  stragglers_.reset();
  ranks_.assign(static_cast<std::size_t>(config_.shape.world_size), Rank{});
  ended_well_ = 0;
  steps_.reset();
  step_seconds_ = 0;
  nodes_.start_all();
  looked_at_ += config_.shape.nodes + config_.shape.world_size;
  CoordinatorMessage message;
  message.mutable_start_attempt()->set_attempt(attempt_);
  message.mutable_start_attempt()->set_master_address(address);
  message.mutable_start_attempt()->set_master_port(port);
  send_to_all(std::move(message));
  v1alpha1::JobReport told;
  told.mutable_attempt_started()->set_attempt(attempt_);
  *told.mutable_attempt_started()->mutable_ended() = {ended_.begin(), ended_.end()};
  told.mutable_attempt_started()->set_short_attempts(short_attempts_);
  effects_.push_back(Tell{std::move(told)});
  if (const auto request = save_wish_.waiting()) ask_for_checkpoint(*request);
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
  if (last_step() == 0) return begin_stop(reason);
  if (!stop_deadline_) ask_ranks_to_stop();
}

void CoordinatorState::ask_ranks_to_stop() {
  const double notice = step_seconds_ > 0 ? std::ceil(kStopNoticeSeconds / step_seconds_) : 1;
  CoordinatorMessage message;
  message.mutable_stop_after_step()->set_attempt(attempt_);
  message.mutable_stop_after_step()->set_step(
      static_cast<int>(std::min<double>(config_.steps, last_step() + std::max(1.0, notice))));
  send_to_all(std::move(message));
  const seconds patience = config_.writes_checkpoints ? kCleanStopTimeoutWithCheckpoint : kCleanStopTimeout;
  const double steps = cause_ ? 0 : 2 * step_seconds_;  // a node that leaves does not wait for them
  stop_deadline_ = now_ + patience + milliseconds(static_cast<std::int64_t>(1000 * steps));
}

Failure CoordinatorState::failure_of_attempt() const {
  const bool a_rank_failed = !deaths_.empty() && !only_symptoms_;
  const bool only_leaves = cause_ && cause_->reason == reasons::kPreempted;
  if (cause_ && !(only_leaves && a_rank_failed)) return *cause_;
  looked_at_ += static_cast<std::int64_t>(deaths_.size());
  return describe_death(deaths_[first_death(deaths_)]);
}

policy::Decision CoordinatorState::judge(const Failure& failure) const {
  if (config_.losses_judged_elsewhere && failure.reason == reasons::kPodLost)
    return {.restart = true, .counts = false, .next = "the gang starts again when it is back"};
  policy::Decision decision =
      policy::decide(config_.failure_policy, failure.facts(), budget_, policy::since_epoch(now_));
  if (config_.losses_judged_elsewhere && decision.failed_reason == reasons::kMaxRestartsReached)
    return {.restart = true, .next = "it counts against failurePolicy.maxRestarts"};
  return decision;
}

void CoordinatorState::conclude_attempt() {
  if (stop_requested_) {
    return end(reasons::kInterrupted, reasons::kStoppedByUser,
               fmt::format("stopped by the user after step {}", last_step()), ExitCode::kInterrupted);
  }
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
  if (ended_.size() > kMostEnded) ended_.pop_front();
  const auto lasted = std::chrono::duration_cast<milliseconds>(now_ - attempt_since_);
  short_attempts_ = policy::short_attempts_after(short_attempts_, made_step_, lasted);
  resume_at_ = now_ + pause_after(failure, short_attempts_, attempt_);
  phase_ = Phase::kBackingOff;
  let_go();
}

void CoordinatorState::forget_attempt() {
  phase_ = Phase::kGathering;
  phase_since_ = now_;
  deaths_.clear();
  only_symptoms_ = true;
  cause_awaited_.reset();
  cause_.reset();
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
    begin_stop("its ranks have stopped for a node that leaves");
  } else {
    end(reasons::kInterrupted, reasons::kStoppedByUser,
        fmt::format("stopped by the user after step {}", last_step()), ExitCode::kInterrupted);
  }
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
  effects_.push_back(Tell{std::move(told)});
}

int CoordinatorState::last_step() const {
  int last = 0;
  looked_at_ += config_.shape.world_size;
  for (const Rank& rank : ranks_) last = std::max(last, rank.last_step);
  return last;
}

void CoordinatorState::send(int node, CoordinatorMessage message) {
  const auto& connection = nodes_.at(node).connection;
  if (connection) effects_.push_back(SendTo{{*connection}, std::move(message)});
}

void CoordinatorState::send_to_all(CoordinatorMessage message) {
  looked_at_ += config_.shape.nodes;
  effects_.push_back(SendTo{.connections = nodes_.connections(), .message = std::move(message)});
}

}  // namespace caravan::agent
