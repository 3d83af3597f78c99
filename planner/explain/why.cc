#include "planner/explain/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/explain/figures.h"
#include "planner/explain/question.h"
#include "planner/explain/summary.h"
#include "planner/explain/table.h"
#include "planner/report.h"
#include "planner/search/reasons.h"
#include "planner/search/search.h"
#include "planner/warnings.h"

namespace caravan::planner {
namespace {

// The first one that fits; where none does, the one that lacks least; else one that shows the broken rule.
const EvaluatedLayout* best_of(const SearchResult& result) {
  const EvaluatedLayout* best = nullptr;
  for (const EvaluatedLayout& candidate : result.candidates) {
    if (candidate.fits) return &candidate;
    const bool leaner = best && !best->illegality && !candidate.illegality &&
                        candidate.memory.peak_bytes() < best->memory.peak_bytes();
    if (!best || leaner || (best->illegality && !candidate.illegality)) best = &candidate;
  }
  return best;
}

// What the same layout would need that keeps all activations, where it is for their sake that they are not
// kept.
std::string why_checkpointing(const EvaluatedLayout& asked, const SearchResult& about) {
  const Layout keeping = asked.layout.keeping_activations();
  const auto is_it = [&](EvaluatedLayout other) {
    other.layout.layers_per_stage = keeping.layers_per_stage;
    return other.layout == keeping;
  };
  const auto found = std::ranges::find_if(about.candidates, is_it);
  if (keeping == asked.layout || found == about.candidates.end()) return "";
  if (!found->fits)
    return fmt::format(" Without activation checkpointing it does not fit: {}.", found->reason);
  if (!found->preference.risky) return "";
  return fmt::format(" Without activation checkpointing it fits with a chance of {} only.",
                     readable_chance(*found->fit_chance));
}

bool is_same(const EvaluatedLayout& asked, const EvaluatedLayout* chosen) {
  return chosen && asked.layout == chosen->layout;
}

std::string verdict_text(const PlanRequest& request, const EngineProfile& profile,
                         const EvaluatedLayout& asked, const EvaluatedLayout* chosen) {
  if (asked.illegality) return fmt::format("It is not legal: {}.", asked.illegality->message());
  if (!asked.fits) return fmt::format("It does not fit: {}.", asked.reason);
  if (!chosen) return "It fits.";
  if (is_same(asked, chosen)) return fmt::format("It is the plan. {}", chosen->reason);
  return fmt::format("It fits, but the plan is {}. Against it: {}.", layout_label(chosen->layout),
                     slower_reason(request, profile, asked, *chosen));
}

struct Part {
  const char* name;
  double StepParts::*seconds;
};

constexpr Part kParts[] = {{"compute", &StepParts::compute},
                           {"tensor parallel traffic", &StepParts::tensor_traffic},
                           {"pipeline idle", &StepParts::idle},
                           {"data parallel traffic", &StepParts::data_traffic},
                           {"optimizer", &StepParts::optimizer}};

std::string seconds_of(const EvaluatedLayout* layout, double StepParts::*part) {
  return layout && layout->time.parts ? readable_seconds((*layout->time.parts).*part) : "";
}

// Where a step goes, beside the plan's.
std::string time_text(const EvaluatedLayout& asked, const EvaluatedLayout* chosen) {
  if (!asked.time.seconds || !asked.time.parts) return "";
  const bool is_plan = is_same(asked, chosen);
  const EvaluatedLayout* other = is_plan ? nullptr : chosen;
  std::vector<std::vector<std::string>> rows;
  for (const Part& part : kParts)
    rows.push_back({part.name, seconds_of(&asked, part.seconds), seconds_of(other, part.seconds)});
  rows.push_back(
      {"a step", readable_seconds(*asked.time.seconds), other ? readable_seconds(*other->time.seconds) : ""});
  return fmt::format("\n{}", format_table({{"Where a step goes"},
                                           {is_plan ? "the plan" : "this one", Align::Right},
                                           {"the plan", Align::Right}},
                                          rows));
}

}  // namespace

Result<WhyAnswer> explain_layout(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                                 const EngineProfile& profile, const std::string& question, int width) {
  const auto request = read_request(spec, facts);
  if (!request) return tl::unexpected(request.error());
  const auto asked_request = ask_about(*request, question);
  if (!asked_request) return tl::unexpected(asked_request.error());

  const SearchResult result = search_layouts(*request, profile, {});
  const SearchResult about = search_layouts(*asked_request, profile, {.all_candidates = true});
  const EvaluatedLayout* asked = best_of(about);
  if (!asked)
    return bad_input(
        fmt::format("--why: there is no layout with {} on {} devices", question, request->devices.count));

  WhyAnswer answer{.candidate = candidate_message(*asked),
                   .text = "",
                   .warnings = warnings_for(*request, asked->illegality ? nullptr : asked)};
  const std::string verdict = paragraph(
      verdict_text(*request, profile, *asked, result.chosen()) + why_checkpointing(*asked, about), width);
  if (asked->illegality) {
    answer.text = fmt::format("{}\n{}", layout_label(asked->layout), verdict);
    return answer;
  }
  const v1alpha1::Plan plan = plan_message(*request, *asked, profile);
  answer.text = fmt::format("{}{}\n{}{}", paragraph(layout_summary(plan), width), verdict,
                            memory_summary(plan, width, true), time_text(*asked, result.chosen()));
  return answer;
}

}  // namespace caravan::planner
