// What a job learns when a rank runs out of memory: the correction with which its layout is planned again.
//
// Once a job, so that one whose memory nobody can predict does not go from layout to layout. Who plans
// differs (the operator, the command line), and the coordinator, which knows of the end first, gives them the
// time for it. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/rank.pb.h"

namespace caravan::policy {

// Nothing where the shortage names no use of memory, or none that grew past its plan. attempt: that ended by
// it.
std::optional<v1alpha1::MemoryCorrection> correction_of(const v1alpha1::MemoryShortage& shortage,
                                                        int attempt);

// Before the next attempt, which has another layout if whoever planned the job finds one.
inline constexpr std::chrono::seconds kTimeToPlanAgain{10};

}  // namespace caravan::policy
