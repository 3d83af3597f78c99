#include "planner/search/search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/enumerate.h"
#include "planner/search/reasons.h"

namespace caravan::planner {
namespace {

// A larger micro-batch than the rule's shows only where it works, unless everything is asked for; what is
// illegal shows once.
bool worth_a_line(const PlanRequest& request, const EvaluatedLayout& candidate, bool all) {
  const bool larger = !request.fixed.micro_batch_size && candidate.layout.micro_batch_size > 1;
  if (candidate.illegality) return !larger && tier_of(request, candidate.layout) == Tier::Rule;
  return !larger || candidate.fits || all;
}

// Of those that fit, or null. What is only listed stands behind all that may be picked.
template <typename Candidates>
auto* best_by_preference(Candidates& candidates) {
  const auto place = [](const EvaluatedLayout& candidate) {
    return std::make_pair(!may_be_picked(candidate.preference.tier), candidate.preference);
  };
  decltype(candidates.data()) best = nullptr;
  for (auto& candidate : candidates) {
    if (!candidate.fits) continue;
    if (!best || place(candidate) < place(*best)) best = &candidate;
  }
  return best;
}

class Search {
 public:
  Search(const PlanRequest& request, const EngineProfile& profile, const PlanOptions& options)
      : request_(request),
        profile_(profile),
        options_(options),
        layouts_(enumerate_layouts(request, profile)) {}

  // In the order in which the rule tries them; other schedules of all that was evaluated so far come last.
  void evaluate(Tier tier) {
    const bool all = options_.all_candidates;
    for (const Layout& layout : layouts_) {
      if (tier_of(request_, layout) != tier) continue;
      if (gives_up()) return;
      EvaluatedLayout candidate = evaluate_layout(request_, layout, profile_);
      if (!candidate.illegality) bases_.push_back(base_of(layout, candidate));
      if (worth_a_line(request_, candidate, all)) candidates_.push_back(std::move(candidate));
    }
    evaluate_other_schedules(tier);
  }

  bool gives_up() const { return options_.gives_up && options_.gives_up(); }
  bool anything_surely_fits() const {
    return std::ranges::any_of(candidates_, [](const EvaluatedLayout& candidate) {
      return candidate.fits && !candidate.preference.risky;
    });
  }
  std::vector<EvaluatedLayout> take() { return std::move(candidates_); }

 private:
  // A layout of 1F1B, and the least that it takes with any other schedule.
  struct Base {
    Layout layout;
    double least_expected = 0;
    int64_t least_peak = 0;
  };

  Base base_of(const Layout& layout, const EvaluatedLayout& evaluated) const {
    return {.layout = layout,
            .least_expected = handicap(request_, layout, profile_) *
                              least_step_seconds(request_, layout, profile_).value_or(0),
            .least_peak = least_with_another_schedule(request_, layout, evaluated.memory.terms, profile_)};
  }

  // Those that may win, the most promising ones first. Where nothing is known about time, 1F1B it is.
  void evaluate_other_schedules(Tier tier) {
    const bool all = options_.all_candidates;
    if (!request_.devices.known || !may_be_picked(tier)) return;
    std::ranges::stable_sort(bases_, {}, &Base::least_expected);
    int arranged = 0;
    for (const Base& base : bases_) {
      const bool promising = may_win(base);
      if (!all && !promising) continue;
      for (const Layout& layout : with_other_schedules(request_, profile_, base.layout)) {
        if (tier_of(request_, layout) != tier) continue;
        const bool fixed_order = has_fixed_order(layout.schedule);
        if (!fixed_order && (!promising || ++arranged > kMostArranged)) continue;
        if (gives_up()) return;
        EvaluatedLayout candidate = evaluate_layout(request_, layout, profile_);
        if (all || is_best(candidate)) candidates_.push_back(std::move(candidate));
      }
    }
  }

  bool may_win(const Base& base) const {
    const auto usable = usable_bytes(request_.devices, profile_);
    if (usable && base.least_peak > *usable) return false;
    const EvaluatedLayout* best = best_so_far();
    return best == nullptr || best->preference.risky ||
           base.least_expected < best->preference.expected_seconds;
  }

  bool is_best(const EvaluatedLayout& candidate) const {
    const EvaluatedLayout* best = best_so_far();
    return candidate.fits && (best == nullptr || candidate.preference < best->preference);
  }

  const EvaluatedLayout* best_so_far() const { return best_by_preference(candidates_); }

  const PlanRequest& request_;
  const EngineProfile& profile_;
  const PlanOptions& options_;
  const std::vector<Layout> layouts_;
  std::vector<Base> bases_;
  std::vector<EvaluatedLayout> candidates_;
};

// Tiers that cannot win any more are left out, unless everything is asked for.
std::vector<EvaluatedLayout> evaluate_tiers(const PlanRequest& request, const EngineProfile& profile,
                                            const PlanOptions& options) {
  const bool all = options.all_candidates;
  Search search(request, profile, options);
  for (const Tier tier :
       {Tier::Rule, Tier::MoreSharding, Tier::Checkpointing, Tier::CheckpointingAndMoreSharding}) {
    if (!all && search.anything_surely_fits()) break;
    search.evaluate(tier);
  }
  if (all) {
    for (const Tier tier : {Tier::Manual, Tier::ManualCheckpointing}) search.evaluate(tier);
  }
  return search.take();
}

// Beside which a choice is explained: what the search looks at, and lists, whatever else is asked for. So the
// explanation does not depend on that.
std::vector<const EvaluatedLayout*> explained_beside(const PlanRequest& request,
                                                     const std::vector<EvaluatedLayout>& candidates,
                                                     const EvaluatedLayout& chosen) {
  std::vector<const EvaluatedLayout*> beside;
  for (const EvaluatedLayout& candidate : candidates) {
    const Preference& preference = candidate.preference;
    const bool looked_at = may_be_picked(preference.tier) &&
                           (chosen.preference.risky || preference.tier <= chosen.preference.tier);
    const bool listed = !preference.other_schedule && worth_a_line(request, candidate, /*all=*/false);
    if ((looked_at && listed) || &candidate == &chosen) beside.push_back(&candidate);
  }
  return beside;
}

const EvaluatedLayout* best_by_rule(const std::vector<const EvaluatedLayout*>& candidates) {
  const EvaluatedLayout* best = nullptr;
  for (const EvaluatedLayout* candidate : candidates) {
    if (!candidate->fits || candidate->preference.other_schedule) continue;
    if (!best || candidate->preference.without_time() < best->preference.without_time()) best = candidate;
  }
  return best;
}

std::string reason_of(const PlanRequest& request, const EngineProfile& profile,
                      const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen) {
  auto beside = explained_beside(request, candidates, chosen);
  const EvaluatedLayout* by_rule = best_by_rule(beside);
  return chosen_reason(request, profile, {.chosen = chosen, .beside = std::move(beside), .by_rule = by_rule});
}

void judge(const PlanRequest& request, const EngineProfile& profile, const EvaluatedLayout* chosen,
           EvaluatedLayout& candidate) {
  if (candidate.illegality) {
    candidate.verdict = Verdict::Illegal;
    candidate.reason = candidate.illegality->message();
  } else if (!candidate.fits) {
    candidate.verdict = Verdict::DoesNotFit;
    candidate.reason = shortage_reason(request, profile, candidate);
  } else if (&candidate == chosen) {
    candidate.verdict = Verdict::Chosen;
  } else {
    candidate.verdict = Verdict::Slower;
    candidate.reason = slower_reason(candidate, *chosen);
  }
}

// What fits stands by preference, the rest as the rule tries it.
void sort_candidates(std::vector<EvaluatedLayout>& candidates) {
  std::ranges::stable_sort(candidates, [](const EvaluatedLayout& a, const EvaluatedLayout& b) {
    if (a.verdict != b.verdict) return a.verdict < b.verdict;
    return a.fits && a.preference < b.preference;
  });
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
  std::vector<EvaluatedLayout> candidates = evaluate_tiers(request, profile, options);
  EvaluatedLayout* chosen = best_by_preference(candidates);
  for (EvaluatedLayout& candidate : candidates) judge(request, profile, chosen, candidate);
  if (chosen) chosen->reason = reason_of(request, profile, candidates, *chosen);
  sort_candidates(candidates);
  return {.candidates = std::move(candidates)};
}

}  // namespace caravan::planner
