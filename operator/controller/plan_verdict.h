// A job's plan, or why it has none, in words for its condition Planned. Pure.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// Without a plan it fails, unless a change of the cluster can help.
struct PlanVerdict : Verdict {
  std::optional<v1alpha1::JobPlan> plan = {};
  std::string document = {};  // what is to be remembered of it
};

PlanVerdict refuse_plan(const std::string& reason, const std::string& message,
                        Verdict::Course course = Verdict::Course::kGoesOn);

// The plan that the document holds (plan_record.h), with what users should know of it; refused where it holds
// none of this job.
PlanVerdict accept_plan(const Job& job, std::string document);

}  // namespace caravan::controller
