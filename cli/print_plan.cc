#include "cli/print_plan.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/say.h"
#include "cli/terminal.h"
#include "common/json.h"
#include "planner/explain/checkpoints.h"
#include "planner/explain/explain.h"

namespace caravan::cli {

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) say(stderr, "warning: {}\n", warning);
}

void print_warnings(const planner::PlanAnswer& answer) {
  print_warnings(answer.warnings);
}

void print_plan(const v1alpha1::JobSpec& spec, const planner::PlanAnswer& answer, const PlanForm& form) {
  if (answer.report.candidates_size() == 0) return;
  if (form.json) {
    fmt::print("{}\n", to_json(answer.report, JsonLayout::kIndented));
    return;
  }
  const int width = output_width();
  fmt::print("{}", planner::explain_plan(answer, {.all = form.all,
                                                  .width = width,
                                                  .checkpoints = planner::checkpoints_text(
                                                      spec, answer.report.plan(), width)}));
}

}  // namespace caravan::cli
