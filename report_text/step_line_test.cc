#include "report_text/step_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/utf8.h"

namespace caravan {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kGiB = 1024.0 * 1024 * 1024;

v1alpha1::JobStep step_of_an_h100() {
  v1alpha1::JobStep step;
  step.set_step(10);
  step.set_loss(7.12344);
  step.set_gradient_norm(1.2);
  step.set_learning_rate(3e-4);
  step.add_peak_bytes_per_rank(static_cast<int64_t>(12 * kGiB));
  step.add_peak_bytes_per_rank(static_cast<int64_t>(40.1 * kGiB));
  step.set_tokens_per_second(7123);
  step.set_seconds(2);
  step.set_model_flops(2 * 2 * 412e12);
  step.set_mfu(0.417);
  return step;
}

RunFigures figures_of_an_h100() {
  return {.steps = 1000,
          .devices = 2,
          .predicted_peak_bytes = static_cast<int64_t>(39.8 * kGiB),
          .usable_bytes = static_cast<int64_t>(80 * kGiB),
          .predicted_mfu = 0.43};
}

TEST(StepLine, IsTheLineThatTheDocumentationShows) {
  EXPECT_EQ(step_line(step_of_an_h100(), figures_of_an_h100(), 2 * 3600.0 + 13 * 60, {}),
            "step 10/1000  loss 7.1234  grad_norm 1.20  lr 3.0e-4  mem 40.1 GiB (50 % · predicted 39.8)  "
            "tok/s 7,123  tflops 412  mfu 41.7 % (predicted 43.0)  eta 2h13m");
}

TEST(StepLine, LeavesOutWhatIsUnknown) {
  v1alpha1::JobStep step;
  step.set_step(1);
  step.set_loss(5.5);
  EXPECT_EQ(step_line(step, {.steps = 4}, std::nullopt, {}),
            "step 1/4  loss 5.5000  grad_norm 0.00  lr 0.0e0");

  step.add_peak_bytes_per_rank(3 << 20);
  EXPECT_THAT(step_line(step, {.steps = 4}, std::nullopt, {}), HasSubstr("mem 3.0 MiB"));
  EXPECT_THAT(step_line(step, {.steps = 4}, std::nullopt, {}), Not(HasSubstr("(")));
}

TEST(StepLine, SaysThatAnUpdateWasSkipped) {
  v1alpha1::JobStep step = step_of_an_h100();
  step.set_loss(std::numeric_limits<double>::quiet_NaN());
  step.set_skipped(true);
  EXPECT_THAT(step_line(step, figures_of_an_h100(), std::nullopt, {}),
              HasSubstr("loss nan (update skipped: not finite)"));
}

TEST(StepLine, ShowsAValidationLossWhereThereIsOne) {
  v1alpha1::JobStep step = step_of_an_h100();
  step.set_validation_loss(7.5);
  EXPECT_THAT(step_line(step, figures_of_an_h100(), std::nullopt, {}),
              HasSubstr("loss 7.1234  val_loss 7.5000  "));
}

TEST(StepLine, FitsATerminalAndKeepsStepAndLoss) {
  for (std::size_t width = 20; width < 200; ++width) {
    const std::string line = step_line(step_of_an_h100(), figures_of_an_h100(), 60, {.width = width});
    EXPECT_THAT(line, StartsWith("step 10/1000  loss 7.1234"));
    EXPECT_LE(utf8_characters(line), std::max<std::size_t>(width, 25)) << line;
  }
}

TEST(StepLine, HasColourOnlyWhereTheStyleSaysSo) {
  EXPECT_THAT(step_line(step_of_an_h100(), figures_of_an_h100(), 60, {.colour = true}),
              HasSubstr("\x1b[2mloss\x1b[0m 7.1234"));
  EXPECT_THAT(step_line(step_of_an_h100(), figures_of_an_h100(), 60, {}), Not(HasSubstr("\x1b")));
}

TEST(ProgressBar, FillsWithTheSteps) {
  const RunFigures figures{.steps = 200};
  EXPECT_EQ(progress_bar(0, figures, std::nullopt, {.width = 34}), "[-------------]   0 %  step 0/200");
  EXPECT_EQ(progress_bar(90, figures, 12, {.width = 44}), "[#####--------]  45 %  step 90/200  eta 12s");
  EXPECT_THAT(progress_bar(200, figures, 0, {.width = 120}),
              StartsWith("[" + std::string(40, '#') + "] 100 %"));
}

TEST(ProgressBar, NeverReachesTheLastColumn) {
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_LT(utf8_characters(progress_bar(90, {.steps = 200}, 12, {.width = width})), width + (width == 1));
  }
}

}  // namespace
}  // namespace caravan
