// For tests of the coordinator's decisions: plays all agents of a gang and notes every effect.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/version.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "worker/agent/coordinator_state.h"

namespace caravan::agent::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;
using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

// Two nodes with two ranks each, ten steps; agents are played by the test. Connections have the number
// node + 100 * joins.
class CoordinatorTestBase : public ::testing::Test {
 protected:
  CoordinatorTestBase() { config_ = {.shape = {.nodes = 2, .world_size = 4}, .job_uid = "uid", .steps = 10}; }

  CoordinatorState& state() {
    if (!state_) state_.emplace(config_, now_);
    return *state_;
  }

  void give(const Input& input) {
    for (const Effect& effect : state().step(input, now_)) {
      if (const auto* send = std::get_if<SendTo>(&effect)) {
        for (const ConnectionId connection : send->connections) note(connection, send->message);
      }
      if (const auto* tell = std::get_if<Tell>(&effect)) told_.push_back(tell->report);
      if (const auto* warn = std::get_if<Warn>(&effect)) warned_.push_back(warn->what);
      if (const auto* cut = std::get_if<Disconnect>(&effect)) cut_.push_back(cut->why);
      if (const auto* end = std::get_if<EndOfJob>(&effect)) exit_code_ = end->exit_code;
    }
  }
  void note(ConnectionId connection, const CoordinatorMessage& m) {
    const int node = static_cast<int>(connection % 100);
    if (m.has_open_master()) sent_.push_back(fmt::format("{} open {}", node, m.open_master().attempt()));
    if (m.has_start_attempt()) {
      sent_.push_back(fmt::format("{} start {}", node, m.start_attempt().attempt()));
      stall_timeout_seconds_ = m.start_attempt().stall_timeout_seconds();
    }
    if (m.has_stop_attempt()) {
      sent_.push_back(fmt::format("{} stop {}", node, m.stop_attempt().attempt()));
      stop_reason_ = m.stop_attempt().reason();
    }
    if (m.has_stop_after_step())
      sent_.push_back(fmt::format("{} until {}", node, m.stop_after_step().step()));
    if (m.has_save_checkpoint())
      sent_.push_back(
          fmt::format("{} save {} {}", node, m.save_checkpoint().attempt(), m.save_checkpoint().request()));
    if (m.has_ask_activity()) sent_.push_back(fmt::format("{} ask {}", node, m.ask_activity().attempt()));
    if (m.has_rank_slowdowns())
      sent_.push_back(fmt::format("{} ratios {}", node, fmt::join(m.rank_slowdowns().ratios(), " ")));
    if (m.has_superseded()) sent_.push_back(fmt::format("{} superseded", connection));
    if (m.has_job_end()) sent_.push_back(fmt::format("{} end {}", node, m.job_end().exit_code()));
  }
  std::vector<std::string> take_sent() { return std::exchange(sent_, {}); }

  void pass(milliseconds time) { now_ += time; }
  // Time goes by with the agents of these nodes alive.
  void pass_alive(milliseconds time, const std::vector<int>& alive = {0, 1}) {
    for (milliseconds gone{0}; gone < time; gone += milliseconds(500)) {
      pass(milliseconds(500));
      for (const int node : alive) beat(node);
      give(Tick{});
    }
  }

  ConnectionId connection(int node) { return node + 100 * joins_[node]; }
  void from(int node, const AgentMessage& message) { give(FromAgent{connection(node), message}); }
  void join(int node, int last_attempt = 0) {
    join_as(node, fmt::format("agent of {}", node), 1, last_attempt);
  }
  void join_as(int node, const std::string& incarnation, int first_attempt, int last_attempt = 0) {
    ++joins_[node];
    AgentMessage message;
    message.mutable_hello()->set_job_uid("uid");
    message.mutable_hello()->set_node(node);
    message.mutable_hello()->set_last_attempt(last_attempt);
    message.mutable_hello()->set_incarnation(incarnation);
    message.mutable_hello()->set_first_attempt(first_attempt);
    message.mutable_hello()->set_version(agents_version_);
    from(node, message);
  }
  void refuse(int node, int attempt, const std::string& why, int last_attempt = 0) {
    AgentMessage message;
    message.mutable_attempt_refused()->set_attempt(attempt);
    message.mutable_attempt_refused()->set_reason(why);
    message.mutable_attempt_refused()->set_last_attempt(last_attempt);
    from(node, message);
  }
  void lose(int node) { give(ConnectionLost{connection(node)}); }
  void beat(int node) {
    AgentMessage message;
    message.mutable_heartbeat();
    from(node, message);
  }
  void master_ready(int attempt) {
    AgentMessage message;
    message.mutable_master_ready()->set_attempt(attempt);
    message.mutable_master_ready()->set_address("10.0.0.1");
    message.mutable_master_ready()->set_port(29500);
    from(0, message);
  }
  void told_to_end(int node) {
    AgentMessage message;
    message.mutable_leaving();
    from(node, message);
  }
  void stopped(int node, int attempt) {
    AgentMessage message;
    message.mutable_attempt_stopped()->set_attempt(attempt);
    from(node, message);
  }
  v1alpha1::RankReport& update(AgentMessage& message, int attempt, int rank) {
    message.mutable_rank_update()->set_attempt(attempt);
    message.mutable_rank_update()->set_rank(rank);
    return *message.mutable_rank_update()->mutable_report();
  }
  void activity_of(int rank, int attempt, const std::string& phase, double seconds,
                   const std::string& operation = "") {
    AgentMessage message;
    v1alpha1::RankActivity& activity = *update(message, attempt, rank).mutable_activity();
    activity.set_phase(phase);
    activity.set_seconds(seconds);
    activity.set_operation(operation);
    if (!operation.empty()) activity.set_axis("data");
    from(rank / 2, message);
  }
  void checkpoint_of(int rank, int attempt, v1alpha1::CheckpointReport::Outcome outcome, int step,
                     const std::string& request = "") {
    AgentMessage message;
    v1alpha1::CheckpointReport& report = *update(message, attempt, rank).mutable_checkpoint();
    report.set_outcome(outcome);
    report.set_step(step);
    report.set_request(request);
    from(rank / 2, message);
  }
  void interlude_of(int rank, int attempt, int delayed_step) {
    AgentMessage message;
    update(message, attempt, rank).mutable_interlude()->set_delayed_step(delayed_step);
    from(rank / 2, message);
  }
  void step_of(int rank, int attempt, int step, double work_seconds = 0) {
    AgentMessage message;
    v1alpha1::StepReport& report = *update(message, attempt, rank).mutable_step();
    report.set_step(step);
    report.set_seconds(step_seconds_);
    report.set_work_seconds(work_seconds);
    if (rank >= 2) report.set_loss(3);
    from(rank / 2, message);
  }
  void step_of_all(int attempt, int step) {
    for (int rank = 0; rank < 4; ++rank) step_of(rank, attempt, step);
  }
  static AgentMessage exit_of(int rank, int attempt, int code, int signal = 0,
                              int64_t dead_microseconds = 0) {
    AgentMessage message;
    v1alpha1::RankExit& exit = *message.mutable_rank_exit();
    exit.set_attempt(attempt);
    exit.set_rank(rank);
    exit.set_exit_code(signal == 0 ? code : -1);
    exit.set_signal(signal);
    exit.set_dead_microseconds(dead_microseconds);
    return message;
  }
  void die(int rank, int attempt, int code, int signal = 0, int64_t dead_microseconds = 0) {
    from(rank / 2, exit_of(rank, attempt, code, signal, dead_microseconds));
  }
  void fail(int rank, int attempt, const std::string& reason, int64_t dead_microseconds = 0) {
    AgentMessage message = exit_of(rank, attempt, 1, 0, dead_microseconds);
    message.mutable_rank_exit()->mutable_failure()->set_reason(reason);
    message.mutable_rank_exit()->mutable_failure()->set_message("it says why");
    from(rank / 2, message);
  }
  struct Activations {
    std::int64_t planned_bytes = 0;
    std::int64_t used_bytes = 0;
  };
  void run_out_of_memory(int rank, int attempt, const Activations& took) {
    AgentMessage message = exit_of(rank, attempt, 1);
    v1alpha1::RankFailure& failure = *message.mutable_rank_exit()->mutable_failure();
    failure.set_reason(reasons::kOutOfMemory);
    failure.mutable_shortage()->set_term("activations");
    failure.mutable_shortage()->set_planned_bytes(took.planned_bytes);
    failure.mutable_shortage()->set_used_bytes(took.used_bytes);
    from(rank / 2, message);
  }
  // Its process is still there.
  void say_finished(int rank, int attempt, int step) {
    AgentMessage message;
    update(message, attempt, rank).mutable_finished()->set_step(step);
    from(rank / 2, message);
  }
  void finish(int rank, int attempt, int step) {
    say_finished(rank, attempt, step);
    die(rank, attempt, 0);
  }
  void run_attempt(int attempt) {
    master_ready(attempt);
    ASSERT_EQ(state().phase(), Phase::kRunning) << "attempt " << attempt;
    take_sent();
  }
  void run_first_attempt() {
    join(0);
    join(1);
    run_attempt(1);
  }
  // Both nodes have stopped the attempt, and the pause before the next one is over.
  void stop_everywhere(int attempt) {
    stopped(0, attempt);
    stopped(1, attempt);
    pass_alive(seconds(10));
  }

  // The attempts that run one after another, each until a rank of it dies, are as far apart as `pauses` says.
  void expect_pauses(const std::vector<milliseconds>& pauses, bool makes_step) {
    join(0);
    join(1);
    for (const milliseconds pause : pauses) {
      const int attempt = state().attempt();
      run_attempt(attempt);
      if (makes_step) step_of_all(attempt, 1);
      die(0, attempt, 1);
      stopped(0, attempt);
      stopped(1, attempt);
      if (pause.count() > 0) {
        pass(pause - milliseconds(1));
        give(Tick{});
        EXPECT_EQ(state().phase(), Phase::kBackingOff) << "attempt " << attempt;
        pass(milliseconds(1));
      }
      give(Tick{});
      EXPECT_EQ(state().phase(), Phase::kOpeningMaster) << "attempt " << attempt;
    }
  }

  std::vector<v1alpha1::JobEvent> events() {
    std::vector<v1alpha1::JobEvent> events;
    for (const auto& report : told_) {
      if (report.has_event()) events.push_back(report.event());
    }
    return events;
  }
  const v1alpha1::JobResult& result() { return told_.back().result(); }

  CoordinatorConfig config_;
  TimePoint now_{std::chrono::hours(100)};
  std::optional<CoordinatorState> state_;
  std::map<int, int> joins_;
  std::string agents_version_{version()};
  double step_seconds_ = 0.1;  // that steps take
  std::vector<std::string> sent_;
  int stall_timeout_seconds_ = 0;  // as the last start of an attempt says
  std::string stop_reason_;        // as the last stop of an attempt says
  std::vector<v1alpha1::JobReport> told_;
  std::vector<std::string> warned_;
  std::vector<std::string> cut_;
  std::optional<int> exit_code_;
};

}  // namespace caravan::agent::testing
