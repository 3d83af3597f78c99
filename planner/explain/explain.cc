#include "planner/explain/explain.h"

#include <fmt/format.h>

#include "planner/explain/alternatives.h"
#include "planner/explain/memory_bars.h"
#include "planner/explain/summary.h"
#include "planner/explain/table.h"
#include "planner/report.h"
#include "planner/search/reasons.h"

namespace caravan::planner {
namespace {

// The layout that lacks least, where none fits; null where none is legal.
const v1alpha1::Candidate* closest(const v1alpha1::PlanReport& report) {
  const v1alpha1::Candidate* best = nullptr;
  for (const v1alpha1::Candidate& candidate : report.candidates()) {
    if (candidate.verdict() != v1alpha1::Verdict::DoesNotFit) continue;
    if (!best || candidate.peak_bytes() < best->peak_bytes()) best = &candidate;
  }
  return best;
}

std::string shortage_text(const v1alpha1::PlanReport& report, int width) {
  const v1alpha1::Candidate* candidate = closest(report);
  if (!candidate) return "No layout is legal.\n";
  const MemoryChart chart = memory_chart(*candidate, report.usable_bytes());
  const std::string sentence = fmt::format("No layout fits. {} comes closest: {}.",
                                           layout_label(layout_value(*candidate)), candidate->reason());
  return paragraph(sentence, width) + memory_legend(chart, width) + memory_bars(chart, width, false);
}

}  // namespace

std::string explain_plan(const PlanAnswer& answer, const ExplainOptions& options) {
  const v1alpha1::PlanReport& report = answer.report;
  const std::string verdict = report.has_plan()
                                  ? plan_summary(report, options.width, options.all) + options.checkpoints +
                                        alternatives_table(report, options.width, options.all)
                                  : shortage_text(report, options.width);
  return verdict + rejected_table(report, options.width, options.all);
}

}  // namespace caravan::planner
