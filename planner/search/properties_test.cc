// What must hold for every job.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "planner/memory/memory_model.h"
#include "planner/search/candidate.h"
#include "planner/search/enumerate.h"
#include "planner/search/reasons.h"
#include "planner/search/search.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

SearchResult search(const PlanRequest& request, bool all = false) {
  return search_layouts(request, default_profile(), {.all_candidates = all});
}

std::string picked(const SearchResult& result) {
  return result.chosen() ? layout_label(result.chosen()->layout) : "nothing";
}

TEST(Properties, MoreMemoryNeverMakesAFittingJobUnfit) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    PlanRequest request = request_of(job);
    bool fitted = false;
    for (const int64_t gibibytes : {24, 80, 192}) {
      request.devices.memory_bytes = gibibytes << 30;
      const bool fits = search(request).chosen() != nullptr;
      EXPECT_TRUE(fits || !fitted) << gibibytes << " GiB";
      fitted = fits;
    }
  }
}

// The best of a number of devices is what needs the least of each; the pick may need more, since it splits
// the model no further and makes no more layers again than it must. Twice the devices can run twice the
// replicas of everything.
int64_t leanest_peak(const PlanRequest& request) {
  int64_t least = INT64_MAX;
  for (const EvaluatedLayout& candidate : search(request, true).candidates) {
    if (candidate.illegality) continue;
    Layout leanest = candidate.layout;
    leanest.recomputed_layers.clear();
    leanest.recomputed_part = RecomputedPart::Layer;
    least = std::min(least, predict_memory(request, leanest, default_profile()).peak_bytes());
  }
  return least;
}

TEST(Properties, MoreDevicesWithTheSameBatchNeverNeedMoreMemoryEach) {
  for (v1alpha1::JobSpec job : few_jobs()) {
    if (job.resources().devices() > 32) continue;
    job.mutable_parallelism()->clear_pipeline();
    job.mutable_parallelism()->set_schedule("1F1B");
    int64_t least = INT64_MAX;
    // From a whole node on, so that tensor parallelism may grow no less than before.
    for (const int devices : {8, 16, 32}) {
      job.mutable_resources()->set_devices(devices);
      const int64_t needs = leanest_peak(request_of(job));
      EXPECT_LE(needs, least) << devices << " devices\n" << job.ShortDebugString();
      least = needs;
    }
  }
}

TEST(Properties, FixingAFieldNeverGivesABetterPlan) {
  std::size_t compared = 0;
  const std::vector<v1alpha1::JobSpec> jobs = many_jobs();
  for (const v1alpha1::JobSpec& job : jobs) {
    const PlanRequest fixed = request_of(job);
    PlanRequest open = fixed;
    open.fixed = {};
    const SearchResult best = search(open);
    const SearchResult restricted = search(fixed);
    if (!restricted.chosen()) continue;
    ASSERT_NE(best.chosen(), nullptr) << picked(restricted);
    const EvaluatedLayout& other = *restricted.chosen();
    const Prediction predicted{.time = other.time, .fit_chance = other.fit_chance.value_or(1)};
    EXPECT_LE(best.chosen()->preference, preference_of(open, other.layout, predicted, default_profile()))
        << picked(best) << " against " << picked(restricted);
    ++compared;
  }
  EXPECT_GT(compared, jobs.size() / 8);
}

TEST(Properties, TheOrderInWhichStagesAreLookedAtChangesNothing) {
  for (const v1alpha1::JobSpec& job : few_jobs()) {
    const PlanRequest request = request_of(job);
    const SearchResult result = search(request);
    if (!result.chosen()) continue;
    const Layout& layout = result.chosen()->layout;
    int64_t peak = 0;
    for (int stage = layout.mesh.pipeline - 1; stage >= 0; --stage)
      peak = std::max(peak, predict_stage_memory(request, layout, stage, default_profile()).total());
    EXPECT_EQ(peak, result.chosen()->memory.peak_bytes()) << picked(result);
  }
}

void expect_terms_that_add_up(const v1alpha1::PlanReport& report) {
  for (const v1alpha1::Candidate& candidate : report.candidates()) {
    const v1alpha1::MemoryTerms& terms = candidate.memory();
    EXPECT_EQ(terms.parameters() + terms.gradients() + terms.optimizer() + terms.activations() +
                  terms.logits() + terms.workspace() + terms.communication() + terms.overhead() +
                  terms.snapshot(),
              candidate.peak_bytes());
  }
}

// Together, since each answer takes long.
TEST(Properties, TheSameJobGivesTheSameBytesAndTermsThatAddUpToEachPeak) {
  for (const v1alpha1::JobSpec& job : few_jobs()) {
    const PlanAnswer answer = answer_job(job, {}, default_profile());
    EXPECT_EQ(answer.report.SerializeAsString(),
              answer_job(job, {}, default_profile()).report.SerializeAsString());
    expect_terms_that_add_up(answer.report);
  }
}

// The search for what would fit looks at less of a layout than the plan that lists it.
TEST(Properties, ALayoutFitsWhereItsEvaluationSaysSo) {
  std::size_t that_stand_too_much = 0;
  std::vector<v1alpha1::JobSpec> jobs = few_jobs();
  jobs.push_back(gpu_job("llama3-70b", 8, "A100-40GB"));
  for (const v1alpha1::JobSpec& job : jobs) {
    const PlanRequest request = request_of(job);
    for (const Layout& layout : enumerate_layouts(request, default_profile())) {
      const EvaluatedLayout evaluated = evaluate_layout(request, layout, default_profile());
      EXPECT_EQ(layout_fits(request, layout, default_profile()), evaluated.fits) << layout_label(layout);
      if (evaluated.illegality || may_fit(request, layout, default_profile())) continue;
      EXPECT_FALSE(evaluated.fits) << layout_label(layout);
      ++that_stand_too_much;
    }
  }
  EXPECT_GT(that_stand_too_much, 0);
}

TEST(Properties, WhatTheSearchLeavesOutWouldNotHaveWonAndChangesNoReason) {
  for (const v1alpha1::JobSpec& job : few_jobs()) {
    const PlanRequest request = request_of(job);
    const SearchResult pruned = search(request);
    const SearchResult all = search(request, true);
    EXPECT_EQ(picked(pruned), picked(all));
    if (pruned.chosen() && all.chosen()) {
      EXPECT_EQ(pruned.chosen()->reason, all.chosen()->reason);
    }
    EXPECT_GE(all.candidates.size(), pruned.candidates.size());
  }
}

}  // namespace
}  // namespace caravan::planner
