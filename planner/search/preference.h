// Which of two layouts the search would rather have: the one order behind the pick, of those that may be
// picked, and behind the list of candidates.
//
// A total order that depends on job, devices and engine alone, not on what else is in the list, so that
// leaving a field open gives a worse plan than fixing it by the handicaps of what is fixed at most. What is
// sure to fit comes before what may run out of memory. Then the expected time decides: predicted seconds,
// with a handicap, by the chance that they are not for nothing. Where nothing is known about time, and
// between equals, it is the rule of search.h: tiers first, of which each is known before a layout is
// evaluated.
#pragma once

#include <compare>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"
#include "planner/time/time_model.h"

namespace caravan::planner {

// The largest that is ever proposed.
constexpr int kMaximumMicroBatch = 8;

// Manual layouts need more memory than one of the tier before and are no faster by the rule: they are listed
// on demand, and never picked.
enum class Tier {
  Rule,
  Manual,
  MoreSharding,   // gradients or parameters too
  Checkpointing,  // or a schedule that holds less than 1F1B
  CheckpointingAndMoreSharding,
  ManualCheckpointing,  // or more sharding
};

// Predictions for two schedules of one layout may be off by so much: another one than 1F1B must gain more.
inline constexpr double kOtherScheduleGain = 0.02;

// What spares memory at the cost of time, which are the tiers behind the rule's, counts as so much slower, as
// does what splits the model further: one that spares memory may win over one that splits it twice as much.
inline constexpr double kSparingMemoryGain = 0.05;

// In all else that the search chooses they are the same.
bool differ_in_schedule_alone(const Layout& a, const Layout& b);

bool may_be_picked(Tier tier);

// A choice that the user made is none of the search's, so it does not lower the tier.
Tier tier_of(const PlanRequest& request, const Layout& layout);

// Smaller is better.
struct Preference {
  bool risky = false;           // less than sure to fit (planner/memory/risk.h)
  double expected_seconds = 0;  // 0 where no time is known
  Tier tier = Tier::Rule;
  int model_parallel = 1;
  int tensor = 1;
  bool other_schedule = false;  // than 1F1B, though the user has asked for none
  int virtual_stages = 1;
  int segments = 1;
  int micro_batch_size = 1;
  bool without_sequence_parallel = false;
  int zero_stage = 1;
  auto operator<=>(const Preference&) const = default;

  // What the rule alone would say.
  Preference without_time() const;
};

// What predicted seconds count for: more with each doubling of model parallelism and of the micro-batch, and
// with what the user has not asked for: another schedule than 1F1B, and what spares memory.
double handicap(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

struct Prediction {
  const StepTime& time;
  double fit_chance = 1;
};

Preference preference_of(const PlanRequest& request, const Layout& layout, const Prediction& predicted,
                         const EngineProfile& profile);

}  // namespace caravan::planner
