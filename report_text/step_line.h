// The line of one optimizer step, on a console or in a log:
//
//  - step 10/1000  loss 7.1234  grad_norm 1.20  lr 3.0e-4  mem 40.1 GiB (50 % · predicted 39.8)
//    tok/s 7,123  tflops 412  mfu 41.7 % (predicted 43.0)  eta 2h13m
//
// in one line. What is unknown is left out; on a terminal that is too narrow the least important parts go
// first, and step and loss stay. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "report_text/console_style.h"

namespace caravan {

// What the job's steps are held against; the same for the whole run.
struct RunFigures {
  int steps = 0;
  int devices = 1;
  int64_t tokens_per_step = 0;
  int64_t predicted_peak_bytes = 0;
  int64_t usable_bytes = 0;  // of one device; 0 where unknown
  std::optional<double> predicted_mfu = std::nullopt;
};

RunFigures figures_of(const v1alpha1::JobPlan& job);

std::string step_line(const v1alpha1::JobStep& step, const RunFigures& figures,
                      std::optional<double> remaining_seconds, const ConsoleStyle& style);

// "[#########-----------]  45 %  step 450/1000  eta 2h13m", within the style's width.
std::string progress_bar(int step, const RunFigures& figures, std::optional<double> remaining_seconds,
                         const ConsoleStyle& style);

}  // namespace caravan
