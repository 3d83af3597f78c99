// Agents that come, go and fall silent, and what that means to the attempt that runs.
#include <fmt/format.h>

#include <algorithm>

#include "common/version.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "worker/agent/coordinator_state.h"

namespace caravan::agent {
namespace {

using v1alpha1::CoordinatorMessage;

// An agent that cannot end its ranks for so long is given up.
constexpr std::chrono::seconds kStopTimeout{60};
// After so many heartbeats that are missing a node counts as silent.
constexpr int kHeartbeatsUntilSilent = 3;

}  // namespace

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
  if (!hello.only_asks()) {
    take_place(connection, hello);
    compare_version(hello);
  }
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

// As after an upgrade, when a pod that was lost comes back with the image of today.
void CoordinatorState::compare_version(const v1alpha1::AgentHello& hello) {
  if (hello.version() == version()) return;
  effects_.push_back(Warn{
      fmt::format("node {} has version {} of Caravan and the coordinator version {}: ranks of two versions "
                  "may hang or train wrongly; suspend the job and resume it, which makes all pods anew",
                  hello.node(), hello.version().empty() ? "unknown" : hello.version(), version())});
}

// Its ranks hold it, and those of others wait for them.
void CoordinatorState::on_leaving(int node) {
  nodes_.at(node).leaving = true;
  if (phase_ != Phase::kRunning) return lose(node, "it was told to end");
  if (stop_deadline_) return;
  blame_.set_cause(describe_leaving(node));
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
  const bool unexplained = !blame_.a_rank_failed() && !blame_.has_cause() && !stop_requested_;
  const bool explains_all = phase_ == Phase::kRunning && !blame_.is_settled();
  if (explains_all || (phase_ == Phase::kStopping && unexplained))
    blame_.set_cause(was_told_to_end ? describe_leaving(index) : describe_lost_node(index, how));
  if (phase_ == Phase::kRunning) begin_stop(fmt::format("node {} was lost", index));
  if (phase_ == Phase::kOpeningMaster) forget_attempt();
}

void CoordinatorState::check_nodes() {
  nodes_checked_ = now_;
  looked_at_ += config_.shape.nodes;
  const std::chrono::seconds patience = absent_after();
  std::vector<int> absent;
  for (int i = 0; i < config_.shape.nodes; ++i) {
    const Member& node = nodes_.at(i);
    if (!node.connection) {
      if (now_ - std::max(node.heard, began_) >= patience) absent.push_back(i);
      continue;
    }
    const auto silence = now_ - node.heard;
    // The gang waits for it: it comes back and has the others go on, or is lost when patience with it is
    // over.
    if (phase_ == Phase::kRunning && silence > kHeartbeatsUntilSilent * config_.heartbeat)
      clock_.note_progress(now_);
    if (silence > config_.patience) {
      if (i > 0) ++fell_silent_;
      lose(i, fmt::format("no heartbeat for {:.1f} s", std::chrono::duration<double>(silence).count()));
    } else if (phase_ == Phase::kStopping && !node.stopped && now_ - phase_since_ > kStopTimeout) {
      lose(i, fmt::format("its ranks did not end within {} s", kStopTimeout.count()));
    }
  }
  if (phase_ == Phase::kGathering && !absent.empty()) tell_absence(absent);
}

std::chrono::seconds CoordinatorState::absent_after() const {
  return std::max(config_.stall_timeout, policy::kAbsentAfter);
}

// Again and again: whoever listens may make a pod anew.
void CoordinatorState::tell_absence(const std::vector<int>& nodes) {
  const std::chrono::seconds patience = absent_after();
  if (!config_.losses_judged_elsewhere || (absence_told_at_ && now_ - *absence_told_at_ < patience)) return;
  absence_told_at_ = now_;
  v1alpha1::JobReport told;
  v1alpha1::JobEvent& event = *told.mutable_event();
  event.set_reason(reasons::kNodeAbsent);
  event.set_attempt(highest_attempt_ + 1);
  event.set_rank(-1);
  const bool is_alone =
      config_.shape.nodes > 2 && std::ssize(nodes) == config_.shape.nodes - 1 && nodes.front() == 1;
  if (is_alone) event.set_suspect_node(0);
  for (const int node : nodes) {
    if (event.absent_nodes_size() < policy::kMostAbsentNodes) event.add_absent_nodes(node);
  }
  event.set_message(fmt::format("not joined within {} s: {}", patience.count(), say_nodes(nodes)));
  effects_.push_back(Tell{std::move(told)});
}

}  // namespace caravan::agent
