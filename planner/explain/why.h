// Answers why one layout is not the plan, or why it is: verdict, memory by stage and term against the limit,
// and where its step goes beside the plan's.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace caravan::planner {

struct WhyAnswer {
  v1alpha1::Candidate candidate;           // for programs
  std::string text;                        // for people; ends with a newline
  std::vector<std::string> warnings = {};  // whole sentences that begin with the field
};

// question: such as "tensor=4,pipeline=2". What it leaves out is taken from the best candidate that has
// these. Errors are those of the job and of the question: a layout that is illegal or does not fit is an
// answer.
Result<WhyAnswer> explain_layout(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                                 const EngineProfile& profile, const std::string& question, int width);

}  // namespace caravan::planner
