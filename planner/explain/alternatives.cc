#include "planner/explain/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/readable_bytes.h"
#include "common/readable_percent.h"
#include "planner/explain/figures.h"
#include "planner/explain/table.h"
#include "planner/report.h"
#include "planner/search/reasons.h"

namespace caravan::planner {
namespace {

constexpr size_t kShownAlternatives = 5;
constexpr size_t kShownRejected = 6;

using v1alpha1::Candidate;
using Rows = std::vector<std::vector<std::string>>;

std::string more_text(size_t count, size_t shown) {
  return count > shown ? fmt::format("  and {} more (--all shows them)\n", count - shown) : "";
}

std::vector<const Candidate*> fitting(const v1alpha1::PlanReport& report) {
  std::vector<const Candidate*> found;
  for (const Candidate& candidate : report.candidates()) {
    if (candidate.verdict() == v1alpha1::Verdict::Slower) found.push_back(&candidate);
  }
  return found;
}

// As layout_label() of planner/search/reasons.h, for a column.
std::string short_label(const Layout& layout) {
  std::string label =
      fmt::format("TP{} PP{} DP{}", layout.mesh.tensor, layout.mesh.pipeline, layout.mesh.data);
  label += schedule_label(layout);
  if (layout.micro_batch_size > 1) label += fmt::format(" MBS{}", layout.micro_batch_size);
  if (layout.zero_stage != Layout{}.zero_stage) label += fmt::format(" Z{}", layout.zero_stage);
  if (layout.mesh.tensor > 1 && !layout.sequence_parallel) label += " no-SP";
  if (layout.activation_checkpointing) label += " ckpt";
  if (!layout.recomputed_layers.empty()) label += fmt::format(" {}", layout.recomputed());
  if (layout.recomputed_part == RecomputedPart::Mlp) label += " MLP";
  return label;
}

// The price in step time says enough of a layout that is slower.
std::vector<std::string> alternative_cells(const Candidate& candidate, const v1alpha1::Plan& chosen) {
  const bool timed = candidate.has_step_seconds() && chosen.has_step_seconds();
  const bool slower = timed && candidate.step_seconds() > chosen.step_seconds();
  const auto peak = static_cast<double>(candidate.peak_bytes());
  return {short_label(layout_value(candidate)),
          timed ? readable_seconds(candidate.step_seconds()) : "",
          timed ? readable_change(candidate.step_seconds(), chosen.step_seconds()) : "",
          readable_bytes(candidate.peak_bytes()),
          readable_change(peak, static_cast<double>(chosen.peak_bytes())),
          candidate.has_mfu() ? readable_percent(candidate.mfu()) : "",
          slower ? "" : candidate.reason()};
}

}  // namespace

std::string alternatives_table(const v1alpha1::PlanReport& report, int width, bool all) {
  std::vector<const Candidate*> candidates = fitting(report);
  if (candidates.empty()) return "";
  const size_t count = candidates.size();
  if (!all) {
    std::ranges::stable_sort(candidates, {}, &Candidate::step_seconds);
    candidates.resize(std::min(count, kShownAlternatives));
  }
  Rows rows;
  for (const Candidate* candidate : candidates) rows.push_back(alternative_cells(*candidate, report.plan()));
  const std::vector<Column> columns = {{"layout"},
                                       {"step", Align::Right},
                                       {"", Align::Right, /*optional=*/true},
                                       {"memory", Align::Right},
                                       {"", Align::Right, /*optional=*/true},
                                       {"MFU", Align::Right, /*optional=*/true},
                                       {"why not"}};
  return fmt::format("\nAlternatives that fit, and their price\n{}{}", format_table(columns, rows, width),
                     more_text(count, candidates.size()));
}

std::string rejected_table(const v1alpha1::PlanReport& report, int width, bool all) {
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : report.candidates()) {
    if (candidate.verdict() == v1alpha1::Verdict::DoesNotFit ||
        candidate.verdict() == v1alpha1::Verdict::Illegal)
      candidates.push_back(&candidate);
  }
  if (candidates.empty()) return "";
  const size_t count = candidates.size();
  if (!all) {
    std::ranges::stable_sort(candidates, {}, [](const Candidate* candidate) {
      return std::make_pair(candidate->verdict(), candidate->peak_bytes());
    });
    candidates.resize(std::min(count, kShownRejected));
  }
  Rows rows;
  for (const Candidate* candidate : candidates)
    rows.push_back({short_label(layout_value(*candidate)), candidate->reason()});
  return fmt::format("\nRejected{}\n{}{}", all ? "" : ", those that lack least first",
                     format_table({{}, {}}, rows, width), more_text(count, rows.size()));
}

}  // namespace caravan::planner
