// What became of a job between two looks at it, in lines for people, and how it ended. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

// A line for each condition that is another one by now, and one for further steps.
std::vector<std::string> news_of(const v1alpha1::JobStatus& before, const v1alpha1::JobStatus& after);

// "step 40/100 (40 %)  loss 2.31  mfu 41.2 % (predicted 43.0)  tok/s 12,000  mem 40.1Gi (predicted 39.8Gi)
// eta 12m"; empty before the first step.
std::string progress_line(const v1alpha1::JobStatus& status);

// Nothing while it goes on. 0: complete, 3: it does not fit, 1: any other failure.
std::optional<ExitCode> end_of(const v1alpha1::JobStatus& status);
// Why, in the operator's words: "StepsReached: 100 of 100 steps"; empty while it goes on.
std::string words_of_end(const v1alpha1::JobStatus& status);

}  // namespace caravan::cli
