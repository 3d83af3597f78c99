// Whatever the layout, real processes over Gloo come to the losses and the gradients of one process.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "common/testing/temporary_folder.h"
#include "tests/numerics/trainer_world.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

using planner::Layout;
using planner::ScheduleKind;

struct Case {
  std::string name;
  Layout layout;
  bool tied = false;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

Layout changed(Layout layout, const std::function<void(Layout&)>& change) {
  change(layout);
  return layout;
}

std::vector<Case> cases() {
  const auto gpipe = [](Layout& layout) { layout.schedule = ScheduleKind::GPipe; };
  const auto checkpointed = [](Layout& layout) { layout.activation_checkpointing = true; };
  const auto large_micro_batches = [](Layout& layout) { layout.micro_batch_size = 2; };
  return {
      {"Tensor2", layout_of(2, 1, 1)},
      {"Tensor2WithoutSequenceParallel",
       changed(layout_of(2, 1, 1), [](Layout& l) { l.sequence_parallel = false; })},
      {"Tensor2Checkpointed", changed(layout_of(2, 1, 1), checkpointed)},
      {"Tensor2Tied", layout_of(2, 1, 1), true},
      {"Pipeline2", layout_of(1, 2, 1)},
      {"Pipeline2GPipe", changed(layout_of(1, 2, 1), gpipe)},
      {"Pipeline2Checkpointed", changed(layout_of(1, 2, 1), checkpointed)},
      {"Pipeline2Uneven", changed(layout_of(1, 2, 1),
                                  [](Layout& l) {
                                    l.layers_per_stage = {1, 3};
                                  })},
      {"Pipeline2Tied", layout_of(1, 2, 1), true},
      {"Pipeline4", layout_of(1, 4, 1)},
      {"Data2", layout_of(1, 1, 2)},
      {"Data2WithoutSharding", changed(layout_of(1, 1, 2), [](Layout& l) { l.zero_stage = 0; })},
      {"Tensor2Pipeline2", changed(layout_of(2, 2, 1), large_micro_batches)},
      {"Tensor2Data2", changed(layout_of(2, 1, 2), large_micro_batches)},
      {"Pipeline2Data2", changed(layout_of(1, 2, 2), gpipe)},
      {"Tensor2Pipeline2Data2Tied", layout_of(2, 2, 2), true},
  };
}

struct Training {
  std::vector<double> losses;
  NamedGradients gradients;
};

class TrainerLayouts : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { corpus_ = std::make_unique<test::JobFolder>(); }
  static void TearDownTestSuite() { corpus_.reset(); }

  static Training run(const Case& wanted) {
    v1alpha1::JobSpec spec = tiny_spec(corpus_->files().path("corpus/genesis.bin"));
    spec.mutable_model()->mutable_architecture()->set_tied_embeddings(wanted.tied);
    const test::TemporaryFolder folder;
    Training training;
    training.losses = losses(train(spec, wanted.layout, {.gradient_folder = folder.path("gradients")}));
    training.gradients = read_gradients(folder.path("gradients"));
    return training;
  }

  static const Training& one_process(bool tied) {
    static std::map<bool, Training> references;
    if (!references.contains(tied)) references[tied] = run({"One", layout_of(1, 1, 1), tied});
    return references[tied];
  }

  static inline std::unique_ptr<test::JobFolder> corpus_;
};

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                  const std::string& name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double allowed = 1e-6 + 1e-5 * std::abs(expected[i]);
    ASSERT_NEAR(actual[i], expected[i], allowed) << name << ", element " << i;
  }
}

TEST_P(TrainerLayouts, GiveTheLossesAndGradientsOfOneProcessAndTheSameBitsTwice) {
  const Training& reference = one_process(GetParam().tied);
  ASSERT_EQ(reference.losses.size(), 3u);
  const Training training = run(GetParam());

  ASSERT_EQ(training.losses.size(), 3u);
  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_NEAR(training.losses[step], reference.losses[step], 1e-5 * reference.losses[step])
        << "step " << step + 1;
  ASSERT_EQ(training.gradients.size(), reference.gradients.size());
  for (const auto& [name, gradient] : reference.gradients)
    expect_close(training.gradients.at(name), gradient, name);

  const Training again = run(GetParam());
  EXPECT_EQ(again.losses, training.losses);
  EXPECT_EQ(again.gradients, training.gradients);
}

INSTANTIATE_TEST_SUITE_P(All, TrainerLayouts, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

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
