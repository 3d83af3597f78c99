#include "worker/agent/coordinator_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

policy::Budget budget_of(const CoordinatorConfig& config, TimePoint now) {
  if (config.counted_restarts == 0) return {};
  return {.used = config.counted_restarts, .window_start = policy::since_epoch(now - config.window_age)};
}

}  // namespace

CoordinatorState::CoordinatorState(CoordinatorConfig config, TimePoint now)
    : config_(std::move(config)),
      now_(now),
      phase_since_(now),
      job_since_(now - config_.elapsed),
      heartbeat_sent_(now),
      nodes_checked_(now),
      began_(now),
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
  if (again) return begin_stop("the job is told to stop at once");
  stop_cleanly("the job is told to stop");
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

void CoordinatorState::on_rank_update(int node, const v1alpha1::RankUpdate& update) {
  if (!is_current(node, update.attempt(), update.rank())) return;
  Rank& rank = ranks_[static_cast<std::size_t>(update.rank())];
  const v1alpha1::RankReport& report = update.report();
  if (report.has_started()) {
    v1alpha1::JobReport told;
    *told.mutable_rank_started() = report.started();
    told.mutable_rank_started()->set_rank(update.rank());
    effects_.push_back(Tell{std::move(told)});
  } else if (report.has_checkpoint()) {
    if (update.rank() == 0) on_checkpoint(report.checkpoint());
  } else if (report.has_finished()) {
    on_finished(rank, report.finished().step());
  } else if (report.has_interlude()) {
    if (update.rank() != 0) return;
    note_progress();
    clock_.expect_delay(report.interlude().delayed_step());
  } else if (report.has_activity()) {
    on_activity(update.rank(), report.activity());
  } else if (report.has_step()) {
    on_step(update.rank(), report.step());
  }
}

void CoordinatorState::advance() {
  if (phase_ != Phase::kEnded) check_clocks();
  if (phase_ == Phase::kStopping && nodes_.all_stopped()) conclude_attempt();
  if (phase_ == Phase::kRunning) complete_if_all_ended();
  if (phase_ == Phase::kBackingOff && now_ >= resume_at_) forget_attempt();
  const bool idle =
      phase_ == Phase::kGathering || phase_ == Phase::kOpeningMaster || phase_ == Phase::kBackingOff;
  if (idle && stop_requested_) {
    return end(reasons::kInterrupted, reasons::kStoppedByUser, "stopped while no rank trained",
               ExitCode::kInterrupted);
  }
  if (phase_ == Phase::kGathering && nodes_.all_connected()) open_master();
}

void CoordinatorState::check_clocks() {
  check_deadline();
  if (phase_ == Phase::kRunning) check_attempt();
  const bool waiting = phase_ == Phase::kGathering || phase_ == Phase::kOpeningMaster;
  if (!waiting || now_ - phase_since_ <= config_.rejoin_timeout) return;
  const std::vector<int> missing = nodes_.missing();
  end(reasons::kFailed, reasons::kPodLost,
      fmt::format("waited {} s for {}; see whether its agent can start and reach the coordinator",
                  config_.rejoin_timeout.count(),
                  missing.empty() ? "node 0 to open the ranks' meeting point" : say_nodes(missing)),
      ExitCode::kJobFailed);
}

void CoordinatorState::check_deadline() {
  if (!config_.active_deadline || now_ - job_since_ < *config_.active_deadline) return;
  if (phase_ == Phase::kStopping || (phase_ == Phase::kRunning && blame_.is_settled())) return;
  const Failure late = describe_deadline(*config_.active_deadline);
  if (phase_ != Phase::kRunning)
    return end(reasons::kFailed, reasons::kDeadlineExceeded, failure_message(late, "the job ends"),
               ExitCode::kJobFailed);
  blame_.set_cause(late);
  if (config_.writes_checkpoints) return stop_cleanly("the deadline is over");
  begin_stop("the deadline is over");
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
