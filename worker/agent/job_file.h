// Reads the plan of a job and checks what an agent relies on.
//
// Errors: exit code 2, naming the file and the field.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/result.h"
#include "worker/agent/coordinator_state.h"
#include "worker/agent/options.h"

namespace caravan::agent {

Result<v1alpha1::JobPlan> read_job(const AgentOptions& options);
CoordinatorConfig coordinator_config(const v1alpha1::JobPlan& job, const AgentOptions& options);
// As it stands in the plan's file now: users may change some of it while the job runs.
Result<v1alpha1::JobSpec> read_spec(const AgentOptions& options);
Limits limits_of(const v1alpha1::JobSpec& spec);

}  // namespace caravan::agent
