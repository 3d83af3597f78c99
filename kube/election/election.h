// Leader election over a Lease (coordination.k8s.io/v1) as a pure state machine: outcome in, next call out.
//
// A lease has expired when its record did not change for its duration by our own monotonic clock; the times
// written in it are for people. A leader may act until `leader_until`, the renew deadline after it *sent* its
// last successful renewal; others cannot take over before the lease duration after that, which is longer.
// Whoever takes a lease has watched one and the same record for that long, or its holder gave it back. So a
// lease that is missing is made with an unknown holder, and waited for like any other: its leader may be
// alive, and takes it back or makes it anew while its own time lasts. An installation that brings its lease,
// without a holder, has its first leader at once; who has seen it held before waits for that one too, and who
// led before takes it back.
//
// This is not fencing: writes are protected besides by resourceVersions and deterministic names. Losing is
// final: the process is to exit.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "common/clock.h"
#include "kube/api/api_error.h"
#include "kube/api/json.h"
#include "kube/api/object.h"

namespace caravan::kube {

// lease_duration > renew_deadline > 1.2 · retry_period.
struct ElectionConfig {
  std::string identity;  // unique for each process, such as host name and a random part
  std::chrono::seconds lease_duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry_period{2};
  ObjectKey lease = {};
};

// Of a lease that was missing.
inline constexpr char kUnknownHolder[] = "unknown";

// Inputs: what the last action came to.
struct ElectionTick {};  // the start, or a wait is over
struct LeaseRead {
  Json lease;
};
struct LeaseWritten {
  Json lease;
};
struct LeaseCallFailed {
  ApiError error;
};
using ElectionInput = std::variant<ElectionTick, LeaseRead, LeaseWritten, LeaseCallFailed>;

// Actions.
struct ReadLease {};
struct CreateLease {
  Json lease;
};
struct ReplaceLease {
  Json lease;
};
struct ElectionWait {
  std::chrono::milliseconds duration;
};
struct StepDown {
  std::string why;
};
using ElectionAction = std::variant<ReadLease, CreateLease, ReplaceLease, ElectionWait, StepDown>;

struct ElectionState {
  explicit ElectionState(ElectionConfig with) : config(std::move(with)) {}

  ElectionConfig config;
  Json lease = nullptr;  // as we saw it last
  Clock::TimePoint changed_at{};
  bool replaced = false;  // by one that nobody has held, while its holder may be alive
  bool leading = false;
  Clock::TimePoint sent_at{};  // of the write that is under way
  Clock::TimePoint leader_until{};
  bool creating = false;  // it is what is under way
};

struct ElectionMoment {
  Clock::TimePoint now;
  Clock::WallTime wall;
  double random;
};

struct ElectionStep {
  ElectionState state;
  ElectionAction action;
};

ElectionStep step(ElectionState state, ElectionInput input, const ElectionMoment& moment);

// That lease without a holder, for a leader whose workers have all stopped.
Json released(const ElectionConfig& config, const Json& lease, Clock::WallTime wall);

}  // namespace caravan::kube
