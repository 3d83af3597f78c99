#include "planner/explain/explain.h"

#include <fmt/format.h>

#include "planner/explain/figures.h"
#include "planner/explain/summary.h"
#include "planner/explain/table.h"

namespace caravan::planner {
namespace {

constexpr int kShownAlternatives = 8;
constexpr int kShownRejected = 8;
constexpr int kBarWidth = 16;

std::vector<std::string> stage_cells(const v1alpha1::Plan& plan, int first, int last) {
  const v1alpha1::MemoryTerms& terms = plan.memory_per_stage(first);
  const std::string stages = first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  std::vector<std::string> cells = {stages, fmt::format("{}", plan.layers_per_stage(first)),
                                    readable_bytes(plan.peak_bytes_per_stage(first))};
  for (const int64_t bytes : {terms.parameters(), terms.gradients(), terms.optimizer(), terms.activations(),
                              terms.logits(), terms.workspace(), terms.communication(), terms.overhead()}) {
    cells.push_back(readable_bytes(bytes));
  }
  cells.push_back(bar(plan.peak_bytes_per_stage(first), plan.peak_bytes(), kBarWidth));
  return cells;
}

// Neighbours that need the same share a line.
std::string stage_table(const v1alpha1::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (int first = 0; first < plan.pipeline();) {
    int last = first;
    while (last + 1 < plan.pipeline() &&
           plan.peak_bytes_per_stage(last + 1) == plan.peak_bytes_per_stage(first) &&
           plan.layers_per_stage(last + 1) == plan.layers_per_stage(first)) {
      ++last;
    }
    rows.push_back(stage_cells(plan, first, last));
    first = last + 1;
  }
  std::vector<Column> columns;
  for (const char* title : {"stage", "layers", "peak", "parameters", "gradients", "optimizer", "activations",
                            "logits", "workspace", "communication", "overhead"}) {
    columns.push_back({.title = title, .align = Align::Right});
  }
  columns.push_back({});
  return fmt::format("\nMemory of each stage\n{}", format_table(columns, rows));
}

std::string yes(bool value) {
  return value ? "yes" : "";
}

std::vector<std::string> candidate_cells(const v1alpha1::Candidate& candidate) {
  const bool known = candidate.verdict() != v1alpha1::Verdict::Illegal;
  return {fmt::format("{}", candidate.tensor()),
          fmt::format("{}", candidate.pipeline()),
          fmt::format("{}", candidate.data()),
          fmt::format("{}", candidate.micro_batch_size()),
          yes(candidate.sequence_parallel()),
          yes(candidate.activation_checkpointing() == v1alpha1::ActivationCheckpointing::Always),
          known ? readable_bytes(candidate.peak_bytes()) : "",
          candidate.has_step_seconds() ? readable_seconds(candidate.step_seconds()) : "",
          candidate.has_mfu() ? fmt::format("{:.1f} %", 100 * candidate.mfu()) : "",
          known ? fmt::format("{:.1f} %", 100 * candidate.bubble_fraction()) : "",
          candidate.reason()};
}

using Rows = std::vector<std::vector<std::string>>;

std::string candidate_table(const std::string& title, const Rows& rows, size_t limit) {
  if (rows.empty()) return "";
  const Rows shown(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(limit, rows.size())));
  const std::vector<Column> columns = {{"TP", Align::Right},
                                       {"PP", Align::Right},
                                       {"DP", Align::Right},
                                       {"MBS", Align::Right},
                                       {"SP"},
                                       {"checkpointing"},
                                       {"peak", Align::Right},
                                       {"step", Align::Right},
                                       {"MFU", Align::Right},
                                       {"idle", Align::Right},
                                       {"why not"}};
  std::string text = fmt::format("\n{}\n{}", title, format_table(columns, shown));
  if (rows.size() > shown.size())
    text += fmt::format("  and {} more (--all shows them)\n", rows.size() - shown.size());
  return text;
}

std::string candidate_tables(const v1alpha1::PlanReport& report, bool all) {
  Rows alternatives;
  Rows rejected;
  for (const v1alpha1::Candidate& candidate : report.candidates()) {
    if (candidate.verdict() == v1alpha1::Verdict::Chosen) continue;
    (candidate.verdict() == v1alpha1::Verdict::Slower ? alternatives : rejected)
        .push_back(candidate_cells(candidate));
  }
  const size_t everything = static_cast<size_t>(report.candidates_size());
  return candidate_table("Alternatives that fit", alternatives, all ? everything : kShownAlternatives) +
         candidate_table("Rejected", rejected, all ? everything : kShownRejected);
}

}  // namespace

std::string explain_plan(const PlanAnswer& answer, bool all) {
  if (!answer.report.has_plan()) return candidate_tables(answer.report, all);
  const v1alpha1::Plan& plan = answer.report.plan();
  std::string text = plan_summary(answer.report);
  if (plan.pipeline() > 1) text += stage_table(plan);
  return text + candidate_tables(answer.report, all);
}

}  // namespace caravan::planner
