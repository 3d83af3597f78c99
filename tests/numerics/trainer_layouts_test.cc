// Whatever the layout, real processes over Gloo come to the losses and the gradients of one process: in fp64
// to ten digits, with clipping.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>

#include "common/testing/sample.h"
#include "proto/caravan/v1alpha1/step_phases.h"
#include "tests/numerics/compared_training.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

using planner::Layout;
using planner::ScheduleKind;

struct Case {
  std::string name;
  TrainingCase training;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

void whole_states(Layout& layout) {
  layout.zero_stage = 0;
}
void large_micro_batches(Layout& layout) {
  layout.micro_batch_size = 2;
}

std::vector<Case> without_a_pipeline() {
  return {
      {"Tensor2", layout_of(2, 1, 1)},
      {"Tensor2WithoutSequenceParallel",
       changed(layout_of(2, 1, 1), [](Layout& l) { l.sequence_parallel = false; })},
      {"Tensor2Checkpointed", changed(layout_of(2, 1, 1), checkpointed)},
      {"Tensor2Tied", layout_of(2, 1, 1), true},
      {.name = "Tensor2TwoThreads", .training = {.layout = layout_of(2, 1, 1), .threads = 2}},
      {"Data2", layout_of(1, 1, 2)},
      {"Data2WithoutSharding", changed(layout_of(1, 1, 2), whole_states)},
      {.name = "Data2TwoThreads", .training = {.layout = layout_of(1, 1, 2), .threads = 2}},
      {"Data4", layout_of(1, 1, 4)},
      {"Tensor2Data2", changed(layout_of(2, 1, 2), large_micro_batches)},
  };
}

std::vector<Case> of_pipelines() {
  return {
      {"Pipeline2", layout_of(1, 2, 1)},
      {"Pipeline2Uneven", changed(layout_of(1, 2, 1),
                                  [](Layout& l) {
                                    l.layers_per_stage = {1, 3};
                                  })},
      {"Pipeline2Tied", layout_of(1, 2, 1), true},
      {"Pipeline4", layout_of(1, 4, 1)},
      {"Pipeline2Data3Tied", layout_of(1, 2, 3), true},
      {"Pipeline2Data3TiedWithoutSharding", changed(layout_of(1, 2, 3), whole_states), true},
      {"Tensor2Pipeline2", changed(layout_of(2, 2, 1), large_micro_batches)},
      {"Pipeline2Data2", changed(layout_of(1, 2, 2), gpipe)},
      {"Tensor2Pipeline2Data2Tied", layout_of(2, 2, 2), true},
  };
}

std::vector<Case> of_schedules() {
  return {
      {"Pipeline2GPipe", changed(layout_of(1, 2, 1), gpipe)},
      {"Pipeline2ZeroBubble", changed(layout_of(1, 2, 1), zero_bubble)},
      {"Pipeline4ZeroBubble", changed(layout_of(1, 4, 1), zero_bubble)},
      {"Pipeline4ZeroBubbleH2", changed(layout_of(1, 4, 1), zero_bubble_h2)},
      {"Tensor2Pipeline2ZeroBubbleH2", changed(layout_of(2, 2, 1), zero_bubble_h2)},
      {"Pipeline2Interleaved", layout_of(1, 2, 1, ScheduleKind::Interleaved)},
      {"Tensor2Pipeline2InterleavedTied", layout_of(2, 2, 1, ScheduleKind::Interleaved), true},
      {"Pipeline2VMin", layout_of(1, 2, 1, ScheduleKind::VMin)},
      {"Pipeline2VHalfTied", layout_of(1, 2, 1, ScheduleKind::VHalf), true},
      {"Tensor2Pipeline2Data2VHalfTied", layout_of(2, 2, 2, ScheduleKind::VHalf), true},
      {"Pipeline4VHalf", layout_of(1, 4, 1, ScheduleKind::VHalf)},
      {"Pipeline4VMinArrangedForUnevenStages", changed(layout_of(1, 4, 1, ScheduleKind::VMin),
                                                       [](Layout& l) {
                                                         l.layers_per_stage = {3, 2, 2, 2};
                                                         l.group_times.assign(8, {600, 1000, 300});
                                                         l.group_times[7] = {1000, 600, 300};
                                                       })},
  };
}

std::vector<Case> that_cut_or_recompute() {
  return {
      {"Pipeline2Checkpointed", changed(layout_of(1, 2, 1), checkpointed)},
      {"Pipeline2CheckpointedMlps", changed(layout_of(1, 2, 1),
                                            [](Layout& l) {
                                              l.activation_checkpointing = true;
                                              l.recomputed_part = planner::RecomputedPart::Mlp;
                                              l.recomputed_layers = {2, 1};
                                            })},
      {"Pipeline2CheckpointedInPart", changed(layout_of(1, 2, 1),
                                              [](Layout& l) {
                                                l.activation_checkpointing = true;
                                                l.recomputed_layers = {1, 0};
                                              })},
      {"Pipeline2ZeroBubbleCheckpointedTied", changed(changed(layout_of(1, 2, 1), zero_bubble), checkpointed),
       true},
      {"Pipeline2VZeroBubbleCheckpointedInPart", changed(layout_of(1, 2, 1, ScheduleKind::VZeroBubble),
                                                         [](Layout& l) {
                                                           l.activation_checkpointing = true;
                                                           l.recomputed_layers = {1, 2};
                                                         })},
      {"Pipeline4Segments", layout_of(1, 4, 1, ScheduleKind::Seq1F1B)},
      {"Tensor2Pipeline2Data2SegmentsZeroBubbleTied", layout_of(2, 2, 2, ScheduleKind::SeqZeroBubble), true},
      {"Pipeline2SegmentsCheckpointedInPart", changed(layout_of(1, 2, 1, ScheduleKind::Seq1F1B),
                                                      [](Layout& l) {
                                                        l.activation_checkpointing = true;
                                                        l.recomputed_layers = {2, 1};
                                                      })},
      {"Pipeline2SegmentsCheckpointedMlps", changed(layout_of(1, 2, 1, ScheduleKind::SeqZeroBubble),
                                                    [](Layout& l) {
                                                      l.activation_checkpointing = true;
                                                      l.recomputed_part = planner::RecomputedPart::Mlp;
                                                      l.recomputed_layers = {2, 2};
                                                    })},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& some : {without_a_pipeline(), of_pipelines(), of_schedules(), that_cut_or_recompute()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class TrainerLayouts : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { corpus_ = std::make_unique<test::JobFolder>(); }
  static void TearDownTestSuite() { corpus_.reset(); }

  static std::string tokens() { return corpus_->files().path("corpus/genesis.bin"); }
  static std::string held_out() { return corpus_->files().path("corpus/held-out.bin"); }

 private:
  static inline std::unique_ptr<test::JobFolder> corpus_;
};

TEST_P(TrainerLayouts, GiveTheLossesAndGradientsOfOneProcessAndTheSameBitsTwice) {
  const TrainingCase& wanted = GetParam().training;
  const Training reference = run_compared(tokens(), in_one_process(wanted), true);
  expect_same(run_compared(tokens(), wanted, true), reference);

  const Training rounded = run_compared(tokens(), wanted, false);
  const Training again = run_compared(tokens(), wanted, false);
  EXPECT_EQ(again.losses, rounded.losses);
  EXPECT_EQ(again.gradients, rounded.gradients);
  ASSERT_EQ(rounded.losses.size(), 3u);
  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_NEAR(rounded.losses[step], reference.losses[step], 1e-5 * reference.losses[step])
        << "step " << step + 1;
}

INSTANTIATE_TEST_SUITE_P(All, TrainerLayouts, testing::ValuesIn(test::sampled(cases(), 4)),
                         [](const auto& info) { return info.param.name; });

class PoisonedRank : public TrainerLayouts {};

TEST_P(PoisonedRank, MakesAllRanksSkipTheSameStepsAndEndWithTheSameReason) {
  v1alpha1::JobSpec job = compared_spec(tokens(), GetParam().training);
  job.mutable_training()->set_steps(9);
  job.mutable_training()->mutable_optimizer()->set_max_nonfinite_steps(3);
  job.mutable_training()->mutable_optimizer()->set_warmup_steps(0);
  job.mutable_training()->mutable_optimizer()->set_gradient_clip_norm("0");
  const int last_rank = static_cast<int>(GetParam().training.layout.mesh.ranks()) - 1;
  const auto poison = [last_rank](v1alpha1::RankConfig& config) {
    if (config.rank() == last_rank)  // ruins its weights with the first step
      config.mutable_spec()->mutable_training()->mutable_optimizer()->set_learning_rate("1e39");
  };
  const auto ranks = TrainerWorld(job, GetParam().training.layout, {.change = poison}).wait();
  bool told = false;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto steps = steps_of(ranks[rank]);
    ASSERT_GE(steps.size(), 3u) << "rank " << rank << ": " << ranks[rank].log;
    ASSERT_LE(steps.size(), 4u) << "rank " << rank;
    for (const v1alpha1::StepReport& step : steps)
      EXPECT_EQ(step.skipped(), step.step() > 1) << "rank " << rank << ", step " << step.step();
    const v1alpha1::RankFailure& end = ranks[rank].reports.back().failure();
    if (end.reason().empty()) continue;  // it was stopped since another one had failed
    EXPECT_EQ(end.reason(), "NonFiniteLoss") << "rank " << rank;
    EXPECT_EQ(end.message().find("-nan"), std::string::npos) << end.message();
    told = true;
  }
  EXPECT_TRUE(told);
}

INSTANTIATE_TEST_SUITE_P(
    All, PoisonedRank,
    testing::Values(Case{"Tensor2", layout_of(2, 1, 1)}, Case{"Pipeline2", layout_of(1, 2, 1)},
                    Case{"Pipeline2ZeroBubbleH2", layout_of(1, 2, 1, ScheduleKind::ZeroBubbleH2)},
                    Case{"Data2WithoutSharding",
                         changed(layout_of(1, 1, 2), [](Layout& l) { l.zero_stage = 0; })},
                    Case{"Tensor2Pipeline2Data2Tied", layout_of(2, 2, 2), true}),
    [](const auto& info) { return info.param.name; });

class Phases : public TrainerLayouts {};

TEST_F(Phases, OfAnEvaluationStandApart) {
  const Layout layout = layout_of(1, 4, 1, ScheduleKind::VHalf);
  v1alpha1::JobSpec job = compared_spec(tokens(), {.layout = layout});
  job.mutable_data()->set_validation_path(held_out());
  job.mutable_training()->mutable_evaluation()->set_every_steps(2);
  for (const RankResult& rank : train(job, layout)) {
    for (const v1alpha1::StepReport& step : steps_of(rank)) {
      const v1alpha1::PhaseSeconds& phases = step.phase_seconds();
      EXPECT_EQ(phases.evaluation() > 0, step.step() == 2) << "step " << step.step();
      for (const StepPhase& phase : std::span(kStepPhases).first(5))
        EXPECT_GT((phases.*phase.get)(), 0) << phase.name;
    }
  }
}

TEST_F(Phases, OfAnEvaluationMayWorkOnSegments) {
  const TrainingCase wanted{.layout = layout_of(1, 2, 1, ScheduleKind::Seq1F1B)};
  v1alpha1::JobSpec job = compared_spec(tokens(), wanted);
  job.mutable_data()->set_validation_path(held_out());
  job.mutable_training()->mutable_evaluation()->set_every_steps(3);
  const auto validation_loss = [&](const Layout& layout) {
    std::optional<double> loss;
    for (const RankResult& rank : train(job, layout, {.double_precision = true})) {
      const v1alpha1::StepReport last = steps_of(rank).back();
      if (last.has_validation_loss()) loss = last.validation_loss();
    }
    return loss.value();
  };
  const double whole = validation_loss(in_one_process(wanted).layout);
  EXPECT_NEAR(validation_loss(wanted.layout), whole, 1e-10 * whole);
}

TEST(TrainerCurves, StayWithinAThousandthOfOneProcessOver300StepsOfRealText) {
  const test::JobFolder corpus;
  v1alpha1::JobSpec spec = tiny_spec(corpus.files().path("corpus/genesis.bin"));
  spec.mutable_model()->mutable_architecture()->set_hidden_size(32);
  spec.mutable_model()->mutable_architecture()->set_ffn_size(64);
  spec.mutable_training()->set_steps(300);
  spec.mutable_training()->set_global_batch_sequences(4);
  spec.mutable_training()->mutable_optimizer()->set_learning_rate("3e-3");
  const std::vector<double> reference = losses(train(spec, layout_of(1, 1, 1)));
  ASSERT_EQ(reference.size(), 300u);
  EXPECT_LT(reference.back(), reference.front() - 2) << "the model does not learn";

  for (const Layout& layout : {layout_of(2, 2, 1), layout_of(1, 1, 2)}) {
    const std::vector<double> curve = losses(train(spec, layout));
    ASSERT_EQ(curve.size(), 300u);
    for (std::size_t step = 0; step < 300; ++step)
      ASSERT_NEAR(curve[step], reference[step], 1e-3) << "step " << step + 1;
  }
}

}  // namespace
}  // namespace caravan::numerics
