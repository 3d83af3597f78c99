// What holds up a pod, in words that its user can act on, and when more may be known. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/api/workload_view.h"
#include "operator/controller/look_again.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

// Empty: nothing. avoided: machines that new pods of the job avoid, sorted.
std::string trouble_of(const PodView& pod, const std::optional<WorkloadView>& workload,
                       const std::vector<std::string>& avoided, TimePoint now);

// When its container counts as slow to be created; nothing: it does already, or none is being created.
LookAgain until_slow(const PodView& pod, TimePoint now);

}  // namespace caravan::controller
