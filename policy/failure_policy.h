// What follows from a failure of a job: whether the gang starts again, at whose cost and after which pause.
// The one meaning of spec.failurePolicy, for coordinator, command line and operator.
//
// The first rule that matches decides; a rule that names exit codes and a reason needs both. Without a rule,
// input that a rank refused and a loss that is not finite are never tried again, since they would fail the
// same way; a pod that had to give way costs nothing; everything else is tried again as long as the budget
// lasts: maxRestarts in a window of windowSeconds, which begins with the first restart that counts and anew
// with the first one after its end. No rule overrules the deadline. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "caravan/v1alpha1/job.pb.h"

namespace caravan::policy {

// The exit code of a process that a signal ended is this and the signal, as shells and pods say it.
inline constexpr int kSignalExitCode = 128;

// Whether somebody sends such a signal to end a process, as users and kubelets do; others are crashes.
bool is_sent(int signal);

// Since an epoch of the caller's choice.
using Time = std::chrono::milliseconds;
template <typename Clock, typename Duration>
Time since_epoch(std::chrono::time_point<Clock, Duration> time) {
  return std::chrono::duration_cast<Time>(time.time_since_epoch());
}

// How long an agent in a pod may be silent, where nobody says otherwise: a network or a machine that hangs
// for some seconds is not worth an attempt of many pods.
inline constexpr std::chrono::seconds kPatienceInPods{20};

// A node whose agent runs and has not joined its gang for so long, or for stallTimeoutSeconds where that is
// longer, is told of; agents join within seconds of their start, and come back within a minute after their
// coordinator has.
inline constexpr std::chrono::seconds kAbsentAfter{300};
inline constexpr int kMostAbsentNodes = 64;  // that one report names

// Whom a coordinator names and the operator keeps: of the attempts before, with each new one, and of the
// ranks that are slow in an attempt.
inline constexpr int kMostEndedAttempts = 100;
inline constexpr int kMostStragglers = 16;

// From the signal that ends a pod to the one that kills it, where the gang may write a last checkpoint.
inline constexpr std::chrono::seconds kGraceForCheckpoint{300};

struct Failure {
  std::string reason;                           // of reasons.h
  std::optional<int> exit_code = std::nullopt;  // of the rank or pod, 128 + signal; absent: none is known
  bool bad_input = false;
};

// A pod went: why, whoever looks after pods knows, and not the gang's coordinator.
bool is_of_pods(const std::string& reason);

// Restarts that count, as whoever keeps the budget remembers them.
struct Budget {
  int used = 0;  // in the window
  std::optional<Time> window_start = std::nullopt;
};

struct Decision {
  bool restart = false;
  bool counts = true;              // against maxRestarts
  std::string failed_reason = {};  // of reasons.h, when the job ends
  std::string next = {};           // what happens now, for the message
};

Decision decide(const v1alpha1::FailurePolicy& policy, const Failure& failure, const Budget& budget,
                Time now);
// For a failure that counts by somebody else's decision.
Decision decide_by_budget(const v1alpha1::FailurePolicy& policy, const Budget& budget, Time now);

int used_restarts(const v1alpha1::FailurePolicy& policy, const Budget& budget, Time now);
void count_restart(const v1alpha1::FailurePolicy& policy, Time now, Budget& budget);

// Attempts in a row that were too short to do the job any good, with one that lasted so long after those
// `before`: a step and ten minutes end the row.
int short_attempts_after(int before, bool made_step, std::chrono::milliseconds lasted);

inline constexpr std::chrono::minutes kLongestRestartPause{5};
// Before the next attempt, after such a row: none after one, then half a second, doubling up to the longest.
std::chrono::milliseconds pause_before_restart(int short_attempts);

}  // namespace caravan::policy
