// What an operator remembers of a job's plan: status.plan.document, JSON of a PlanRecord.
//
// Job and record together give the plan that agents get, so the layout stands for the life of the job while
// users change what they may change (time-outs, the failure policy, what pods ask for). The status is written
// by operators only, but of any version: nothing is believed that does not agree with the spec, and what this
// version does not know is named. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/result.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

// Whether the job was planned ever, and whether all of the plan is remembered: operators before this one kept
// only what they show.
bool has_plan(const v1alpha1::JobStatus& status);
bool remembers_plan(const v1alpha1::JobStatus& status);
// It was changed while its user had it suspended, before any pod was made: whoever resumes it may have placed
// it.
bool is_planned_anew(const Job& job);

// The sizes that operators have always shown.
struct LayoutSizes {
  int tensor = 0;
  int pipeline = 0;
  int data = 0;
  int micro_batch_size = 0;
};
// Why no layout of these devices has these sizes; empty when one may.
std::string problem_of(const LayoutSizes& sizes, const v1alpha1::Resources& resources);

std::string document_of(const v1alpha1::Plan& plan, const std::string& gpu_product);

struct RememberedPlan {
  v1alpha1::JobPlan plan = {};
  std::string unknown = {};  // a field that this version does not know; empty: none
};
// Errors say what is wrong with the document.
Result<RememberedPlan> read_document(const Job& job, const std::string& document);

}  // namespace caravan::controller
