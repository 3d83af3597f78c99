// What a gang hangs in, told from what its ranks said when they were asked: which of them holds up the
// others.
//
// That is a rank that does not answer, for which the others wait. When all answer, it is the one that has
// been longest in work of its own while others wait for it, or in its part of a checkpoint for which all
// wait. Messages stay short however many ranks there are. Pure.
#pragma once

#include <optional>
#include <vector>

#include "caravan/v1alpha1/rank.pb.h"
#include "worker/agent/failure.h"

namespace caravan::agent {

// Of a rank that has not ended.
struct RankAnswer {
  int rank = 0;
  int node = 0;
  std::optional<v1alpha1::RankActivity> activity = {};  // absent: it did not answer
};

struct Stall {
  double silent_seconds = 0;  // until they were asked
  int attempt = 0;
  int last_step = 0;                              // 0: none in this attempt
  std::optional<double> usual_step_seconds = {};  // where that set the limit, and not stallTimeoutSeconds
  std::vector<RankAnswer> answers = {};           // by rank
};

Failure describe_stall(const Stall& stall);

}  // namespace caravan::agent
