#include "planner/search/search.h"

#include <algorithm>

#include "planner/search/enumerate.h"
#include "planner/search/reasons.h"

namespace caravan::planner {
namespace {

constexpr double kExposedTraffic = 0.1;  // part of a step from which data parallel traffic questions the rule

// A larger micro-batch than the rule's shows only where it works, unless everything is asked for; what is
// illegal shows once.
bool worth_a_line(const PlanRequest& request, const EvaluatedLayout& candidate, Breadth breadth) {
  const bool larger = !request.fixed.micro_batch_size && candidate.layout.micro_batch_size > 1;
  const bool repeated =
      candidate.layout.activation_checkpointing && request.fixed.checkpointing != CheckpointingPolicy::Always;
  if (candidate.illegality) return !larger && !repeated;
  return !larger || candidate.fits || breadth == Breadth::All;
}

std::vector<EvaluatedLayout> evaluate_all(const PlanRequest& request, const EngineProfile& profile,
                                          bool checkpointing, Breadth breadth) {
  std::vector<EvaluatedLayout> evaluated;
  for (const Layout& layout : enumerate_layouts(request, checkpointing, breadth)) {
    EvaluatedLayout candidate = evaluate_layout(request, layout, profile);
    if (worth_a_line(request, candidate, breadth)) evaluated.push_back(std::move(candidate));
  }
  return evaluated;
}

bool keeps_to_rule(const PlanRequest& request, const Layout& layout) {
  return request.fixed.sequence_parallel || layout.sequence_parallel || layout.tensor == 1 ||
         request.training.sequence_length % layout.tensor != 0;
}

bool rule_may_pick(const PlanRequest& request, const EvaluatedLayout& candidate) {
  const bool smallest_batch = request.fixed.micro_batch_size || candidate.layout.micro_batch_size == 1;
  return candidate.fits && smallest_batch && keeps_to_rule(request, candidate.layout);
}

// Does not depend on how many candidates were asked for.
bool time_model_may_pick(const PlanRequest& request, const EvaluatedLayout& candidate) {
  const Layout& layout = candidate.layout;
  const bool batch =
      request.fixed.micro_batch_size || layout.micro_batch_size == 1 || layout.tensor * layout.pipeline == 1;
  return candidate.fits && batch && keeps_to_rule(request, layout);
}

EvaluatedLayout* pick_by_rule(const PlanRequest& request, std::vector<EvaluatedLayout>& candidates) {
  const auto pick = std::ranges::find_if(
      candidates, [&](const auto& candidate) { return rule_may_pick(request, candidate); });
  return pick == candidates.end() ? nullptr : &*pick;
}

bool rule_is_weak(const PlanRequest& request, const EvaluatedLayout& pick) {
  const Layout& layout = pick.layout;
  const bool few_micro_batches =
      layout.pipeline > 1 && micro_batches(request.training, layout) < int64_t{4} * layout.pipeline;
  const bool exposed_traffic = pick.time.parts->data_traffic > kExposedTraffic * *pick.time.seconds;
  return few_micro_batches || exposed_traffic || layout.tensor * layout.pipeline == 1;
}

EvaluatedLayout* fastest_of(const PlanRequest& request, std::vector<EvaluatedLayout>& candidates,
                            const Layout& like) {
  EvaluatedLayout* fastest = nullptr;
  for (EvaluatedLayout& candidate : candidates) {
    if (!time_model_may_pick(request, candidate)) continue;
    if (candidate.layout.activation_checkpointing != like.activation_checkpointing) continue;
    if (!fastest || *candidate.time.seconds < *fastest->time.seconds) fastest = &candidate;
  }
  return fastest;
}

struct Pick {
  EvaluatedLayout* layout = nullptr;
  EvaluatedLayout* overruled = nullptr;  // what the rule would have taken
};

Pick pick_layout(const PlanRequest& request, const EngineProfile& profile,
                 std::vector<EvaluatedLayout>& candidates) {
  EvaluatedLayout* rule = pick_by_rule(request, candidates);
  if (!rule || !rule->time.seconds || !rule_is_weak(request, *rule)) return {.layout = rule};
  EvaluatedLayout* fastest = fastest_of(request, candidates, rule->layout);
  const bool clearly_better = *fastest->time.seconds < *rule->time.seconds * (1 - profile.overrule_gain);
  if (!clearly_better) return {.layout = rule};
  return {.layout = fastest, .overruled = rule};
}

void judge(const PlanRequest& request, const EngineProfile& profile, const Pick& pick,
           EvaluatedLayout& candidate) {
  if (candidate.illegality) {
    candidate.verdict = Verdict::Illegal;
    candidate.reason = candidate.illegality->message();
  } else if (!candidate.fits) {
    candidate.verdict = Verdict::DoesNotFit;
    candidate.reason = shortage_reason(request, profile, candidate);
  } else if (&candidate == pick.layout) {
    candidate.verdict = Verdict::Chosen;
  } else {
    candidate.verdict = Verdict::Slower;
    candidate.reason = slower_reason(candidate, *pick.layout);
  }
}

void append(std::vector<EvaluatedLayout>& all, std::vector<EvaluatedLayout> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

const EvaluatedLayout* SearchResult::chosen() const {
  return candidates.empty() || candidates.front().verdict != Verdict::Chosen ? nullptr : &candidates.front();
}

bool SearchResult::anything_legal() const {
  return std::ranges::any_of(candidates, [](const auto& candidate) { return !candidate.illegality; });
}

SearchResult search_layouts(const PlanRequest& request, const EngineProfile& profile,
                            const PlanOptions& options) {
  const Breadth breadth = options.all_candidates ? Breadth::All : Breadth::Rule;
  const CheckpointingPolicy policy = request.fixed.checkpointing;
  std::vector<EvaluatedLayout> candidates;
  if (policy != CheckpointingPolicy::Always) candidates = evaluate_all(request, profile, false, breadth);
  const bool enough = pick_by_rule(request, candidates) != nullptr && !options.all_candidates;
  if (policy != CheckpointingPolicy::Never && !enough)
    append(candidates, evaluate_all(request, profile, true, breadth));

  const Pick pick = pick_layout(request, profile, candidates);
  for (EvaluatedLayout& candidate : candidates) judge(request, profile, pick, candidate);
  if (pick.layout)
    pick.layout->reason = chosen_reason(request, profile, candidates, *pick.layout, pick.overruled);

  std::ranges::stable_sort(candidates, {}, &EvaluatedLayout::verdict);
  return {.candidates = std::move(candidates)};
}

}  // namespace caravan::planner
