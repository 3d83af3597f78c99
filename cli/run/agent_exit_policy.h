// Decides what follows when an agent of a local run ends.
//
// A killed agent is a lost pod: it is started again, and its node joins the next attempt. The coordinator
// counts the restart when another node is lost; when node 0 is, the coordinator went with it and this side
// counts; what a restart costs is said by policy/failure_policy.h on both. One that somebody told to stop is
// lost in the same way, except node 0's, whose coordinator stops the job. Before an agent is started again
// there is the pause that the coordinator makes before an attempt. An agent that ends by its own
// decision while the job runs had a reason that a restart would not mend. Pure.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/job.pb.h"
#include "common/process.h"
#include "policy/failure_policy.h"

namespace caravan::cli {

struct AgentExit {
  int node = 0;
  ExitStatus status;
};

struct RunProgress {
  policy::Budget budget = {};                      // of restarts that count
  policy::Budget lost_agents = {};                 // of nodes above 0, without this one
  int last_attempt = 0;                            // 0 before the first
  int short_attempts = 0;                          // in a row, without the one that runs
  std::optional<policy::Time> attempt_since = {};  // when it started; absent: none runs
  bool made_step = false;                          // in it
  bool job_over = false;                           // the result is known, or the run is being stopped
};

struct AgentVerdict {
  enum class Action { kExpected, kStartAgain, kAwaitResult, kFail };
  Action action = Action::kExpected;
  bool restarts = false;  // the gang, and the coordinator cannot tell of it
  bool counts = false;    // that restart, against the budget
  std::string reason;     // a condition reason; empty when nothing is to be told
  std::string message;    // what happened, and what happens next
};

AgentVerdict judge_agent_exit(const AgentExit& exit, const RunProgress& progress,
                              const v1alpha1::FailurePolicy& policy, policy::Time now);

// Remembers a loss that was judged: at whose cost it is, and that it ended the attempt.
void count_lost_agent(const AgentExit& exit, const AgentVerdict& verdict,
                      const v1alpha1::FailurePolicy& policy, policy::Time now, RunProgress& progress);
// Its coordinator goes with it, and cannot tell how long the row of short attempts is.
void end_attempt(policy::Time now, RunProgress& progress);

}  // namespace caravan::cli
