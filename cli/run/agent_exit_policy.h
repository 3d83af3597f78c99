// Decides what follows when an agent of a local run ends.
//
// A killed agent is a lost pod: it is started again, and its node joins the next attempt. The coordinator
// counts the restart when another node is lost; when node 0 is, the coordinator went with it and this side
// counts. One that somebody told to stop is lost in the same way, except node 0's, whose coordinator stops
// the job. An agent that ends by its own decision while the job runs had a reason that a restart would not
// mend. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/job.pb.h"
#include "common/process.h"

namespace caravan::cli {

struct AgentExit {
  int node = 0;
  ExitStatus status;
};

struct RunProgress {
  int restarts = 0;       // so far
  int agents_lost = 0;    // killed so far, without this one
  int last_attempt = 0;   // 0 before the first
  bool job_over = false;  // the result is known, or the run is being stopped
};

struct AgentVerdict {
  enum class Action { kExpected, kStartAgain, kAwaitResult, kFail };
  Action action = Action::kExpected;
  int restarts = 0;     // from now on
  std::string reason;   // a condition reason; empty when nothing is to be told
  std::string message;  // what happened, and what happens next
};

AgentVerdict judge_agent_exit(const AgentExit& exit, const RunProgress& progress,
                              const v1alpha1::FailurePolicy& policy);

}  // namespace caravan::cli
