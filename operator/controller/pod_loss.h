// A pod of a job that is lost: which one it is, why it went, and what rules and people call that. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "operator/controller/look_again.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// Of a machine or the API server, to the operator; one that is off by more is wrong.
inline constexpr std::chrono::minutes kMostClockSkew{1};

struct Loss {
  const PodView* pod = nullptr;  // null: gone without a trace, or silent
  int node = 0;
  bool by_silence = false;  // of an agent whose pod nobody has deleted
  std::string told = {};    // by the coordinator
};

// "pod a-0-a1 was preempted or evicted"
std::string describe(const Loss& loss);
// One of reasons.h, as the rules of failurePolicy name them.
std::string reason_of(const Loss& loss);

// Its agent ended by its own decision, and may have heard of the job's end before we do.
bool ended_by_itself(const PodView& pod);
// By its machine's clock; nothing where that is wrong: an end that lies ahead is not waited for.
std::optional<TimePoint> ended_at(const PodView& pod, TimePoint now);
// It is being deleted, and its gang may write a checkpoint first.
bool may_still_save(const PodView& pod, TimePoint now);

// A pod is left that may still use what the job was given.
bool holds_machines(const std::vector<PodView>& pods, TimePoint now);
// When one that is being deleted counts as gone at the latest; nothing where none is.
LookAgain until_gone(const PodView& pod, TimePoint now);
LookAgain until_gone(const std::vector<PodView>& pods, TimePoint now);

// Of each node the newest pod, living ones first.
std::unordered_map<int, const PodView*> newest_by_node(const std::vector<PodView>& pods);

// The pod whose end explains that the coordinator lost a node in that attempt; one that the cluster took away
// before others. Null: none is known.
enum class Among { kEnded, kEndedOrLeaving };
const PodView* lost_pod(const std::vector<PodView>& pods, int attempt, Among among, TimePoint now);

}  // namespace caravan::controller
