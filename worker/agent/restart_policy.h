// Decides whether a job goes on after a failure: the first rule of failurePolicy that matches, else our own
// judgement.
//
// Without a rule, input that a rank refused and a loss that is not finite are never tried again, since they
// would fail the same way; everything else is, as long as restarts are left. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "worker/agent/failure.h"

namespace caravan::agent {

using TimePoint = std::chrono::steady_clock::time_point;

struct RestartDecision {
  bool restart = false;
  bool counts = true;              // against maxRestarts
  std::string failed_reason = {};  // of reasons.h, when the job ends
  std::string next = {};           // what happens now, for the message
};

// counted_restarts: when restarts that count were made.
RestartDecision decide_restart(const v1alpha1::FailurePolicy& policy, const Failure& failure,
                               const std::vector<TimePoint>& counted_restarts, TimePoint now);

// How long to wait before the next attempt; `fruitless` attempts in a row ended before any step.
std::chrono::milliseconds restart_delay(int fruitless);

}  // namespace caravan::agent
