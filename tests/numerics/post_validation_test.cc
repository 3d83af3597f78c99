// Steps that begin before the ranks have agreed on the one before come to the losses and gradients of steps
// that wait for it, to the bit: also where gradients were clipped or not finite, and the begun step was taken
// back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "common/testing/sample.h"
#include "common/testing/temporary_folder.h"
#include "tests/numerics/compared_training.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

using planner::Layout;
using planner::ScheduleKind;

constexpr int kSteps = 8;

struct PostValidationCase {
  std::string name;
  Layout layout;
  bool bf16 = false;
  bool tied = false;
};

void PrintTo(const PostValidationCase& each, std::ostream* out) {
  *out << each.name;
}

Layout with_whole_states(Layout layout) {
  layout.zero_stage = 0;
  return layout;
}

std::vector<PostValidationCase> post_validation_cases() {
  return {
      {"Pipeline4ZeroBubbleH2", layout_of(1, 4, 1, ScheduleKind::ZeroBubbleH2)},
      {"Pipeline2ZeroBubbleH2TiedBf16", layout_of(1, 2, 1, ScheduleKind::ZeroBubbleH2), true, true},
      {"Pipeline2Data2VZeroBubbleBf16", layout_of(1, 2, 2, ScheduleKind::VZeroBubble), true},
      {"Tensor2Pipeline2VZeroBubble", layout_of(2, 2, 1, ScheduleKind::VZeroBubble)},
      {"Pipeline2Data2VZeroBubbleWhole", with_whole_states(layout_of(1, 2, 2, ScheduleKind::VZeroBubble))},
  };
}

struct Trained {
  std::vector<v1alpha1::StepReport> steps;  // of the first rank
  Training training;
};

class PostValidation : public testing::TestWithParam<PostValidationCase> {
 protected:
  static void SetUpTestSuite() { corpus_ = std::make_unique<test::JobFolder>(); }
  static void TearDownTestSuite() { corpus_.reset(); }

  v1alpha1::JobSpec spec(const std::string& clip_norm) const {
    v1alpha1::JobSpec spec = tiny_spec(corpus_->files().path("corpus/genesis.bin"));
    spec.mutable_model()->mutable_architecture()->set_tied_embeddings(GetParam().tied);
    spec.mutable_model()->mutable_architecture()->set_layers(layers_of(GetParam().layout));
    if (GetParam().bf16) spec.mutable_training()->set_precision(v1alpha1::Precision::BF16);
    spec.mutable_training()->set_steps(kSteps);
    spec.mutable_training()->mutable_optimizer()->set_learning_rate("1e-2");
    spec.mutable_training()->mutable_optimizer()->set_gradient_clip_norm(clip_norm);
    return spec;
  }

  Trained run(const v1alpha1::JobSpec& spec) const {
    const test::TemporaryFolder folder;
    const std::vector<RankResult> ranks =
        train(spec, GetParam().layout, {.gradient_folder = folder.path("gradients")});
    return {.steps = steps_of(ranks[0]),
            .training = {.losses = losses(ranks), .gradients = read_gradients(folder.path("gradients"))}};
  }

  // A step behind which weights are evaluated is over before the next one begins.
  Trained run_waiting(v1alpha1::JobSpec spec) const {
    spec.mutable_data()->set_validation_path(corpus_->files().path("corpus/held-out.bin"));
    spec.mutable_training()->mutable_evaluation()->set_every_steps(1);
    spec.mutable_training()->mutable_evaluation()->set_batches(1);
    return run(spec);
  }

 private:
  static inline std::unique_ptr<test::JobFolder> corpus_;
};

std::vector<double> norms(const Trained& run) {
  std::vector<double> norms;
  for (const v1alpha1::StepReport& step : run.steps) norms.push_back(step.gradient_norm());
  return norms;
}

// What the first rank sent to other stages.
int64_t sent(const v1alpha1::StepReport& step) {
  int64_t bytes = 0;
  for (const v1alpha1::CollectiveCount& each : step.collectives()) {
    if (each.operation() == "send" && each.axis() == "pipeline") bytes += each.bytes();
  }
  return bytes;
}

std::vector<int> steps_begun_twice(const Trained& run) {
  int64_t once = sent(run.steps.front());
  for (const v1alpha1::StepReport& step : run.steps) once = std::min(once, sent(step));
  std::vector<int> twice;
  for (const v1alpha1::StepReport& step : run.steps) {
    if (sent(step) > once) twice.push_back(step.step());
  }
  return twice;
}

// A step is left open where the one before was not clipped; the one behind it begins twice if it was.
std::vector<int> expected_twice(const std::vector<double>& norms, double clip_norm) {
  std::vector<int> twice;
  for (std::size_t i = 1; i + 1 < norms.size(); ++i) {
    if (norms[i - 1] <= clip_norm && norms[i] > clip_norm) twice.push_back(static_cast<int>(i) + 2);
  }
  return twice;
}

TEST_P(PostValidation, ComesToTheBitsOfStepsThatWait) {
  const Trained free = run(spec("0"));
  EXPECT_TRUE(steps_begun_twice(free).empty());
  // The second step follows one that was not clipped, and is.
  ASSERT_GT(norms(free)[1], 1.1 * norms(free)[0]);
  const double limit = (norms(free)[0] + norms(free)[1]) / 2;

  const Trained clipped = run(spec(fmt::format("{}", limit)));
  const Trained waiting = run_waiting(spec(fmt::format("{}", limit)));
  ASSERT_EQ(clipped.training.losses.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(clipped.training.losses, waiting.training.losses);
  EXPECT_EQ(clipped.training.gradients, waiting.training.gradients);
  EXPECT_EQ(norms(clipped), norms(waiting));
  EXPECT_EQ(steps_begun_twice(clipped).front(), 3);
  EXPECT_EQ(steps_begun_twice(clipped), expected_twice(norms(clipped), limit))
      << fmt::format("limit {}, norms {}", limit, fmt::join(norms(clipped), " "));
}

// While the step after the next one has begun already.
TEST_P(PostValidation, StopsWhereItIsToldToAndGoesOnToTheBit) {
  const test::TemporaryFolder folder;
  v1alpha1::JobSpec job = spec("0");
  const std::vector<double> whole = losses(train(job, GetParam().layout));
  job.mutable_checkpoint()->set_path(folder.path("states"));
  TrainerWorld begun(job, GetParam().layout);
  v1alpha1::RankCommand stop;
  stop.set_stop_after_step(4);
  begun.send(0, stop);
  const std::vector<RankResult> first = begun.wait();
  for (const RankResult& rank : first) {
    ASSERT_TRUE(rank.reports.back().has_finished()) << rank.log;
    EXPECT_EQ(rank.reports.back().finished().step(), 4);
  }
  std::vector<double> both = losses(first);
  const std::vector<double> rest = losses(train(job, GetParam().layout, {.attempt = 2}));
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(both, whole);
}

INSTANTIATE_TEST_SUITE_P(All, PostValidation, testing::ValuesIn(test::sampled(post_validation_cases(), 4)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::numerics
