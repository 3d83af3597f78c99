// The object by which a job waits in a queue of Kueue: a Workload of one set of pods, which ask for exactly
// what the job's pods will. Pure; a golden file in testdata/ shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

// Which the job names and the cluster has.
struct WorkloadPriority {
  std::string group = {};
  std::string kind = {};
  std::string name = {};
  std::int64_t value = 0;
  bool operator==(const WorkloadPriority&) const = default;
};

inline constexpr char kPodSetName[] = "worker";

std::string workload_name(const Job& job);

kube::Json workload_intent(const Job& job, const v1alpha1::JobPlan& plan,
                           const std::optional<WorkloadPriority>& priority, const Settings& settings);

}  // namespace caravan::controller
