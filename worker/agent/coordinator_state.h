// The coordinator's decisions: forms the gang, numbers the attempts, stops what is left of one and starts the
// next, ends the job. Pure: every input comes with its time, every consequence is an effect for the shell to
// carry out.
//
// Guarantees: attempt numbers only grow, also over a restart of the coordinator; a message of another attempt
// than the one that runs changes nothing; no attempt starts before every connected node has stopped the one
// before; after the job's end every agent that joins is told its exit code. Of two living agents of one node
// one stays (membership.h); the other is told to end.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/result.h"
#include "planner/job_shape.h"
#include "policy/failure_policy.h"
#include "worker/agent/blame.h"
#include "worker/agent/defaults.h"
#include "worker/agent/failure.h"
#include "worker/agent/membership.h"
#include "worker/agent/save_wish.h"
#include "worker/agent/stall.h"
#include "worker/agent/step_aggregator.h"
#include "worker/agent/step_clock.h"
#include "worker/agent/straggler_watch.h"

namespace caravan::agent {

struct CoordinatorConfig {
  planner::JobShape shape;
  std::string job_uid;
  int steps = 1;
  int ranks_per_stage = 1;
  std::optional<double> device_peak_flops = std::nullopt;
  v1alpha1::FailurePolicy failure_policy = {};
  std::chrono::seconds stall_timeout = kStallTimeout;
  bool writes_checkpoints = false;  // also a last one, when the job is stopped
  std::optional<std::chrono::seconds> active_deadline = std::nullopt;
  std::chrono::seconds elapsed{0};  // of the active deadline
  std::chrono::milliseconds heartbeat = kHeartbeat;
  std::chrono::milliseconds patience =
      patience_of(kHeartbeat);  // with a silent agent, and an agent's with us
  std::chrono::seconds rejoin_timeout = kRejoinTimeout;
  int first_attempt = 1;
  int restarts = 0;                      // so far
  int counted_restarts = 0;              // of them, in the window of the failure policy,
  std::chrono::seconds window_age{0};    // which began so long ago
  int short_attempts = 0;                // in a row, before the first one
  bool losses_judged_elsewhere = false;  // others know why nodes went, and keep the budget and the deadline
};

// Inputs.
struct FromAgent {
  ConnectionId connection = 0;
  v1alpha1::AgentMessage message;
};
struct ConnectionLost {
  ConnectionId connection = 0;
};
struct StopRequested {};
struct SaveRequested {
  std::string request;  // its name; see SaveWish
};
// What users may change while the job runs.
struct Limits {
  v1alpha1::FailurePolicy failure_policy;
  std::chrono::seconds stall_timeout = kStallTimeout;
};
struct Tick {};
using Input = std::variant<FromAgent, ConnectionLost, StopRequested, SaveRequested, Limits, Tick>;

// Effects.
struct SendTo {
  std::vector<ConnectionId> connections;
  v1alpha1::CoordinatorMessage message;
};
struct Disconnect {
  ConnectionId connection = 0;
  std::string why;
};
struct Tell {
  v1alpha1::JobReport report;
};
// In the log.
struct Warn {
  std::string what;
};
struct EndOfJob {
  int exit_code = 0;
};
using Effect = std::variant<SendTo, Disconnect, Tell, Warn, EndOfJob>;
using Effects = std::vector<Effect>;

enum class Phase { kGathering, kOpeningMaster, kRunning, kStopping, kBackingOff, kEnded };

class CoordinatorState {
 public:
  CoordinatorState(CoordinatorConfig config, TimePoint now);

  Effects step(const Input& input, TimePoint now);

  Phase phase() const { return phase_; }
  int attempt() const { return attempt_; }
  int restarts() const { return restarts_; }
  // Messages of another attempt, or of ranks that the sender does not own.
  std::int64_t refused_messages() const { return refused_messages_; }
  // How often a node or a rank was looked at in a loop over all of them: what all inputs cost.
  std::int64_t looked_at() const { return looked_at_; }

 private:
  struct Rank {
    int last_step = 0;
    std::optional<int> finished_step;  // its own last word
    bool ended_well = false;
    std::optional<v1alpha1::RankActivity> activity = {};  // its answer
  };

  void handle(const FromAgent& input);
  void handle(const ConnectionLost& input);
  void handle(const StopRequested&);
  void handle(const SaveRequested& asked);
  void handle(const Limits& limits);
  void handle(const Tick&);
  bool is_current(int attempt);
  bool is_current(int node, int attempt, int rank);
  void on_rank_update(int node, const v1alpha1::RankUpdate& update);
  void ask_for_checkpoint(const std::string& request);
  void advance();  // what follows from all that is known, after every input
  void check_clocks();
  void check_deadline();
  void send(int node, v1alpha1::CoordinatorMessage message);
  void send_to_all(v1alpha1::CoordinatorMessage message);

  // coordinator_members.cc
  void join(ConnectionId connection, const v1alpha1::AgentHello& hello);
  void supersede(ConnectionId connection);
  void take_place(ConnectionId connection, const v1alpha1::AgentHello& hello);
  void compare_version(const v1alpha1::AgentHello& hello);
  void on_leaving(int node);
  std::chrono::seconds absent_after() const;
  void tell_absence(const std::vector<int>& nodes);
  void let_go();
  void lose(int node, const std::string& how);
  void leave(int node, const std::string& how);
  void check_nodes();

  // coordinator_attempt.cc
  void open_master();
  void on_master_ready(const v1alpha1::MasterReady& ready);
  void begin_attempt(const std::string& address, int port);
  void on_rank_exit(int node, const v1alpha1::RankExit& exit);
  void on_attempt_stopped(int node, const v1alpha1::AttemptStopped& stopped);
  void on_attempt_refused(int node, const v1alpha1::AttemptRefused& refused);
  void check_attempt();
  void begin_stop(const std::string& reason);
  void stop_cleanly(const std::string& reason);
  void ask_ranks_to_stop();
  bool a_node_leaves();
  void note_progress();
  std::string loss_of_last_checkpoint() const;
  Failure failure_of_attempt() const;
  policy::Decision judge(const Failure& failure) const;
  void conclude_attempt();
  void forget_attempt();
  void complete_if_all_ended();
  void end_for_user();
  void end(const char* result, const std::string& reason, const std::string& message, ExitCode exit_code);
  void tell_event(const Failure& failure, const policy::Decision& decision);

  // coordinator_progress.cc
  void on_step(int rank, const v1alpha1::StepReport& report);
  void tell_speed(v1alpha1::JobStep& step);
  void find_stragglers(int step, const std::vector<double>& work_seconds);
  void send_slowdowns();
  void on_checkpoint(const v1alpha1::CheckpointReport& report);
  void on_finished(Rank& rank, int step);
  void on_activity(int rank, const v1alpha1::RankActivity& activity);
  void check_progress();
  void ask_activity();
  void end_stall();

  CoordinatorConfig config_;
  TimePoint now_;
  Effects effects_;

  Phase phase_ = Phase::kGathering;
  TimePoint phase_since_;
  TimePoint job_since_;
  TimePoint heartbeat_sent_;
  TimePoint nodes_checked_;
  TimePoint began_;
  std::optional<TimePoint> absence_told_at_;
  Membership nodes_;
  int highest_attempt_;  // any agent has seen
  std::int64_t refused_messages_ = 0;
  std::int64_t looked_at_ = 0;
  int exit_code_ = 0;
  std::string end_reason_;

  // Of the attempt.
  int attempt_ = 0;
  TimePoint attempt_since_;  // its start
  bool made_step_ = false;
  std::vector<Rank> ranks_;
  int finished_ = 0;     // ranks that have said their last word
  int ended_well_ = 0;   // ranks
  int fell_silent_ = 0;  // nodes, and were lost for it, without node 0
  StepAggregator steps_;
  StepClock clock_;
  std::optional<TimePoint> asked_at_;  // what the ranks do, since no step finishes
  int answers_ = 0;                    // of ranks that have not ended
  StragglerWatch stragglers_;
  TimePoint slowdowns_sent_;
  double step_seconds_ = 0;
  int last_step_ = 0;   // that a rank has finished
  int saved_step_ = 0;  // with a checkpoint
  Blame blame_;
  std::optional<TimePoint> stop_deadline_;  // of a clean stop

  // Of the job.
  bool stop_requested_ = false;
  SaveWish save_wish_;
  int counted_steps_ = 0;  // of all attempts, without the first of each
  double counted_seconds_ = 0;
  int restarts_;
  policy::Budget budget_;
  std::deque<v1alpha1::EndedAttempt> ended_;  // the latest
  int short_attempts_;                        // in a row, without the one that runs
  TimePoint resume_at_;
};

}  // namespace caravan::agent
