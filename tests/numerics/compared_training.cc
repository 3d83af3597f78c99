#include "tests/numerics/compared_training.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/testing/temporary_folder.h"
#include "planner/placement.h"

namespace caravan::numerics {
namespace {

constexpr double kClipNorm = 0.2;
constexpr const char* kTable = "model.embed_tokens.weight";
constexpr const char* kSecondTable = "lm_head.weight";

void expect_close(const std::vector<double>& actual, const std::vector<double>& expected,
                  const std::string& name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double allowed = 1e-12 + 1e-10 * std::abs(expected[i]);
    ASSERT_NEAR(actual[i], expected[i], allowed) << name << ", element " << i;
  }
}

void expect_one_table(Training& training, const TrainingCase& wanted) {
  if (!wanted.tied || place_layers(wanted.layout).head_stage() == 0) return;
  EXPECT_EQ(training.gradients.at(kTable), training.gradients.at(kSecondTable));
  training.gradients.erase(kSecondTable);
}

}  // namespace

TrainingCase in_one_process(const TrainingCase& wanted) {
  TrainingCase one{
      .layout = layout_of(1, 1, 1), .tied = wanted.tied, .threads = 1, .sequences = wanted.sequences};
  one.layout.layers_per_stage = {layers_of(wanted.layout)};
  return one;
}

v1alpha1::JobSpec compared_spec(const std::string& token_file, const TrainingCase& wanted) {
  v1alpha1::JobSpec spec = tiny_spec(token_file);
  spec.mutable_model()->mutable_architecture()->set_tied_embeddings(wanted.tied);
  spec.mutable_model()->mutable_architecture()->set_layers(layers_of(wanted.layout));
  spec.mutable_training()->set_global_batch_sequences(static_cast<int>(wanted.sequences));
  spec.mutable_training()->mutable_optimizer()->set_gradient_clip_norm(fmt::format("{}", kClipNorm));
  return spec;
}

Training run_compared(const std::string& token_file, const TrainingCase& wanted, bool double_precision) {
  const test::TemporaryFolder folder;
  const std::vector<RankResult> ranks = train(compared_spec(token_file, wanted), wanted.layout,
                                              {.gradient_folder = folder.path("gradients"),
                                               .threads = wanted.threads,
                                               .double_precision = double_precision});
  for (const v1alpha1::StepReport& step : steps_of(ranks[0])) {
    EXPECT_GT(step.gradient_norm(), kClipNorm) << "nothing is clipped";
  }
  Training training{.losses = losses(ranks), .gradients = read_gradients(folder.path("gradients"))};
  expect_one_table(training, wanted);
  return training;
}

void expect_same(const Training& actual, const Training& expected) {
  ASSERT_EQ(expected.losses.size(), 3u);
  expect_close(actual.losses, expected.losses, "loss");
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients)
    expect_close(actual.gradients.at(name), gradient, name);
}

std::vector<v1alpha1::StepReport> steps_of(const RankResult& rank) {
  std::vector<v1alpha1::StepReport> steps;
  for (const v1alpha1::RankReport& report : rank.reports) {
    if (report.has_step()) steps.push_back(report.step());
  }
  return steps;
}

}  // namespace caravan::numerics
