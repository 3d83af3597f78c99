// Which layouts a model, a batch, a set of devices and an engine allow, whatever their memory and speed.
//
// Sentences equal those of the job schema's own rules where both check the same thing.
#pragma once

#include <optional>
#include <string>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"

namespace caravan::planner {

// The schema's bound: what stages do is counted one by one, for each layout that is looked at.
inline constexpr int kMostPipelineStages = 512;

struct Illegality {
  std::string field;     // path in the job, such as spec.parallelism.tensor
  std::string sentence;  // the rule and the numbers that break it

  std::string message() const { return field + ": " + sentence; }
};

// The first rule that the layout breaks.
std::optional<Illegality> find_illegality(const PlanRequest& request, const Layout& layout,
                                          const EngineProfile& profile);

// Rules of the tensor size alone.
std::optional<Illegality> check_tensor(const PlanRequest& request, int tensor);

}  // namespace caravan::planner
