#include "planner/explain/explain.h"

#include "planner/explain/alternatives.h"
#include "planner/explain/summary.h"

namespace caravan::planner {

std::string explain_plan(const PlanAnswer& answer, const ExplainOptions& options) {
  const v1alpha1::PlanReport& report = answer.report;
  std::string rejected = rejected_table(report, options.width, options.all);
  if (!report.has_plan()) return rejected;
  return plan_summary(report, options.width, options.all) +
         alternatives_table(report, options.width, options.all) + rejected;
}

}  // namespace caravan::planner
