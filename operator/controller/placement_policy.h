// Decides what the condition Scheduled says, and Running until ranks run: how far the pods of a job are, and
// why one does not start, in words that its user can act on: what the scheduler and the kubelet say, and what
// to do about it. Pure.
#pragma once

#include <string>

#include "operator/controller/domain_policy.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// status: as it becomes, with the conditions as they were. why_no_pods: are made now; empty: they are.
Verdict judge_placement(const Snapshot& snapshot, const v1alpha1::JobStatus& status,
                        const v1alpha1::JobPlan& plan, const DomainVerdict& domains,
                        const std::string& why_no_pods, const Settings& settings, TimePoint now);

}  // namespace caravan::controller
