// What ended an attempt, in words a user can act on. When a rank died is known by the coordinator's own clock
// alone: when it heard of it, less how long ago that was by then. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "policy/failure_policy.h"

namespace caravan::agent {

struct Death {
  int node = 0;
  int last_step = 0;  // that the rank had finished
  std::chrono::steady_clock::time_point died_at{};
  v1alpha1::RankExit exit;
};

struct Failure {
  std::string reason;                           // of reasons.h
  int rank = -1;                                // that died first; -1 when none did
  std::optional<int> exit_code = std::nullopt;  // 128 + signal, as a shell and a pod say it
  bool bad_input = false;
  std::string what;
  std::string advice;
  std::vector<std::string> log = {};               // last lines of that rank's log
  std::optional<int> suspect_node = std::nullopt;  // whose machine may be to blame
  std::optional<v1alpha1::MemoryShortage> shortage = std::nullopt;

  // As failurePolicy sees it.
  policy::Failure facts() const { return {.reason = reason, .exit_code = exit_code, .bad_input = bad_input}; }
};

// When the rank died whose end is heard of now. Deaths of one node are told in their order, so it lies after
// the one before on its node, however long the messages took.
std::chrono::steady_clock::time_point time_of_death(
    const v1alpha1::RankExit& exit, std::optional<std::chrono::steady_clock::time_point> before,
    std::chrono::steady_clock::time_point now);

// So much of what happened that what follows from it fits into the message too.
std::string leave_room(std::string what);

Failure describe_death(const Death& death);
Failure describe_lost_node(int node, const std::string& how);
Failure describe_leaving(int node);
Failure describe_refusal(int node, const std::string& why);
Failure describe_deadline(std::chrono::seconds deadline);

// `what; next; advice`, then as many of the last log lines as fit into the 1 kB of an API message.
std::string failure_message(const Failure& failure, const std::string& next);

}  // namespace caravan::agent
