// What a run's page lists as events, where a cluster has those of Kubernetes. Pure.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/job_service.pb.h"
#include "operator/api/job_object.h"

namespace caravan::cli {

// Nothing: a step, a checkpoint, and whatever else goes as it should all the time.
std::optional<v1alpha1::JobEventRecord> event_of(const v1alpha1::JobReport& report, const std::string& job,
                                                 controller::TimePoint now);
v1alpha1::JobEventRecord event_of_plan(const v1alpha1::Plan& plan, const std::string& job,
                                       controller::TimePoint now);
v1alpha1::JobEventRecord event_of_end(const v1alpha1::JobResult& result, const std::string& job,
                                      controller::TimePoint now);

}  // namespace caravan::cli
