// Why a pod does not start, in words that its user can act on: what the scheduler and the kubelet say, and
// what to do about it. Pure.
#pragma once

#include <chrono>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

// A container is usually created within seconds of its pod's binding; after this long users should know.
inline constexpr std::chrono::seconds kSlowCreation{20};

// Of a container that waits; empty while that is nothing unusual.
std::string explain_waiting(const std::string& reason, const std::string& message);
// Of a pod that no machine takes.
std::string explain_unschedulable(const std::string& message);
// Of a container whose creation takes longer than kSlowCreation: the cause stands in the pod's events only.
// A pod that is being deleted, and whose gang may write a checkpoint first.
std::string explain_leaving(TimePoint gone_by);
std::string explain_slow_creation(const std::string& pod);

}  // namespace caravan::controller
