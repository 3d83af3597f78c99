// The life of an agent: joins the gang, does what the coordinator says, tells it what the ranks do.
//
// One thread, one loop; nothing in it blocks but the wait for the next event. When the coordinator is lost
// the ranks end, since their gang does, and the agent joins again for as long as `rejoin_timeout`. It ends
// when a newer agent of its node is there. What it cannot do, it says.
// Guarantees: attempts only go up; no rank outlives the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/mailbox.h"
#include "worker/agent/coordinator_link.h"
#include "worker/agent/defaults.h"
#include "worker/agent/metrics.h"
#include "worker/agent/rejoin_pause.h"
#include "worker/agent/supervisor.h"

namespace caravan::agent {

struct NodeAgentConfig {
  std::string job_uid;
  int node = 0;
  int nodes = 1;  // of the job
  std::string host;
  CoordinatorAddress coordinator;
  int first_attempt = 1;  // that this node may take part in
  std::string incarnation;
  std::chrono::seconds rejoin_timeout = kRejoinTimeout;
  // Until the coordinator says otherwise.
  std::chrono::milliseconds heartbeat = kHeartbeat;
  std::chrono::milliseconds patience = patience_of(kHeartbeat);
  // What a signal to end means: asks the job to stop. Absent: this node leaves the job, which goes on. The
  // coordinator may have a checkpoint written first; a second signal does not wait for that.
  std::function<void()> stop_job;
};

class NodeAgent {
 public:
  // signal_fd: SIGINT and SIGTERM (see common/process.h). All references outlive the agent.
  NodeAgent(NodeAgentConfig config, Supervisor& supervisor, Metrics& metrics, int signal_fd);

  // Until the job ends; its exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  void wait_for_events();
  void handle_signals();
  void leave(int signal);
  void end(int exit_code);
  void handle_link();
  void handle(const LinkMessage& event);
  void handle(const LinkBroken& event);
  void handle(const v1alpha1::CoordinatorMessage& message);
  void handle_ranks();
  void handle_clocks();
  void open_master(int attempt);
  void start_attempt(const v1alpha1::StartAttempt& start);
  void stop_attempt(const v1alpha1::StopAttempt& stop);
  void refuse_attempt(int attempt, const std::string& why);
  void forward(const v1alpha1::RankUpdate& update);
  void lose_coordinator(const std::string& why);
  void join();

  NodeAgentConfig config_;
  Supervisor& supervisor_;
  Metrics& metrics_;
  int signal_fd_;
  Mailbox<LinkEvent> events_;
  CoordinatorLink link_;

  int connection_ = 0;           // the current one; 0: none
  int last_attempt_;             // the highest that has been here, or was over before
  std::optional<int> stopping_;  // attempt whose ranks are ending, to be told
  UniqueFd listener_;            // node 0: where the ranks of the next attempt meet
  int listening_for_ = 0;        // that attempt
  bool lets_go_ = false;         // who it is connected to, of agents that leave
  bool leaving_ = false;
  std::optional<int> exit_code_;

  Clock::time_point heard_;    // from the coordinator
  Clock::time_point beat_at_;  // next heartbeat
  Clock::time_point join_at_;
  Clock::time_point lost_since_;
  bool was_lost_ = false;                        // ever
  std::optional<Clock::time_point> welcome_at_;  // on this connection
  Backoff rejoin_;
};

}  // namespace caravan::agent
