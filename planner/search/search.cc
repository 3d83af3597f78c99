#include "planner/search/search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/enumerate.h"
#include "planner/search/legality.h"
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

// As something that may be picked does.
bool surely_fits(const EvaluatedLayout& candidate) {
  return candidate.fits && !candidate.preference.risky && may_be_picked(candidate.preference.tier);
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

  // All of it, in the order in which the rule tries it; other schedules of all that was evaluated so far come
  // last.
  void evaluate(Tier tier) {
    for (const Layout& layout : layouts_) {
      if (tier_of(request_, layout) != tier) continue;
      if (gives_up()) return;
      EvaluatedLayout candidate = evaluate_base(layout);
      if (worth_a_line(request_, candidate, options_.all_candidates))
        candidates_.push_back(std::move(candidate));
    }
    evaluate_other_schedules(tier);
  }

  // What of it may be faster than what surely fits, the most promising ones first.
  void evaluate_what_may_win(Tier tier) {
    if (!request_.devices.known) return;
    std::vector<Base> bases;
    for (const Layout& layout : layouts_) {
      if (tier_of(request_, layout) == tier && !find_illegality(request_, layout, profile_))
        bases.push_back(base_of(layout));
    }
    std::ranges::stable_sort(bases, {}, &Base::least_expected);
    for (const Base& base : bases) {
      if (!may_win(base)) break;
      if (gives_up()) return;
      EvaluatedLayout candidate = evaluate_base(base.layout);
      if (is_best(candidate)) candidates_.push_back(std::move(candidate));
    }
    evaluate_other_schedules(tier);
  }

  bool gives_up() const { return options_.gives_up && options_.gives_up(); }
  bool anything_surely_fits() const { return std::ranges::any_of(candidates_, surely_fits); }
  std::vector<EvaluatedLayout> take() { return std::move(candidates_); }

 private:
  // A layout of 1F1B, and the least that it takes with any other schedule.
  struct Base {
    Layout layout;
    double least_expected = 0;
    int64_t least_peak = 0;  // 0 before it is evaluated
  };

  Base base_of(const Layout& layout) const {
    return {.layout = layout,
            .least_expected = handicap(request_, layout, profile_) *
                              least_step_seconds(request_, layout, profile_).value_or(0)};
  }

  EvaluatedLayout evaluate_base(const Layout& layout) {
    EvaluatedLayout candidate = evaluate_layout(request_, layout, profile_);
    if (candidate.illegality) return candidate;
    bases_.push_back(base_of(layout));
    bases_.back().least_peak =
        least_with_another_schedule(request_, layout, candidate.memory.terms, profile_);
    return candidate;
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

// Unless everything is asked for, of the tiers behind one of which something surely fits no more is looked at
// than may win.
std::vector<EvaluatedLayout> evaluate_tiers(const PlanRequest& request, const EngineProfile& profile,
                                            const PlanOptions& options) {
  const bool all = options.all_candidates;
  Search search(request, profile, options);
  for (const Tier tier :
       {Tier::Rule, Tier::MoreSharding, Tier::Checkpointing, Tier::CheckpointingAndMoreSharding}) {
    if (!all && search.anything_surely_fits()) {
      search.evaluate_what_may_win(tier);
    } else {
      search.evaluate(tier);
    }
  }
  if (all) {
    for (const Tier tier : {Tier::Manual, Tier::ManualCheckpointing}) search.evaluate(tier);
  }
  return search.take();
}

// The last tier of which the search looks at everything, whatever else is asked for.
Tier last_whole_tier(const std::vector<EvaluatedLayout>& candidates) {
  Tier last = Tier::CheckpointingAndMoreSharding;
  for (const EvaluatedLayout& candidate : candidates) {
    if (surely_fits(candidate)) last = std::min(last, candidate.preference.tier);
  }
  return last;
}

// Beside which a choice is explained: what the search looks at, and lists, whatever else is asked for. So the
// explanation does not depend on that.
std::vector<const EvaluatedLayout*> explained_beside(const PlanRequest& request,
                                                     const std::vector<EvaluatedLayout>& candidates,
                                                     const EvaluatedLayout& chosen) {
  const Tier last = last_whole_tier(candidates);
  std::vector<const EvaluatedLayout*> beside;
  for (const EvaluatedLayout& candidate : candidates) {
    const Preference& preference = candidate.preference;
    const bool looked_at = may_be_picked(preference.tier) && preference.tier <= last;
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

// What the plan is better than in spite of its tier; null where the tier is no later one.
const EvaluatedLayout* best_of_earlier_tiers(const std::vector<EvaluatedLayout>& candidates,
                                             const EvaluatedLayout& chosen) {
  const Tier last = last_whole_tier(candidates);
  if (chosen.preference.tier <= last) return nullptr;
  const EvaluatedLayout* best = nullptr;
  for (const EvaluatedLayout& candidate : candidates) {
    if (!surely_fits(candidate) || candidate.preference.tier > last) continue;
    if (!best || candidate.preference < best->preference) best = &candidate;
  }
  return best;
}

std::string reason_of(const PlanRequest& request, const EngineProfile& profile,
                      const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen) {
  auto beside = explained_beside(request, candidates, chosen);
  const EvaluatedLayout* by_rule = best_by_rule(beside);
  return chosen_reason(request, profile,
                       {.chosen = chosen,
                        .beside = std::move(beside),
                        .by_rule = by_rule,
                        .unsparing = best_of_earlier_tiers(candidates, chosen)});
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
    candidate.reason = slower_reason(request, profile, candidate, *chosen);
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
