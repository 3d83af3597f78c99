#include "cli/cluster/step_curve.h"

#include <gmock/gmock.h>

namespace caravan::cli {
namespace {

using ::testing::ElementsAre;

constexpr const char* kLine =
    "2026-01-01T00:00:00.000 info agent-0: step 40/1,000  loss 2.3125  val_loss 2.5  grad_norm 1.20  tok/s "
    "7,123  mfu "
    "41.7% (predicted 43.0)  eta 2h13m";

TEST(StepCurve, ReadsTheLinesOfSteps) {
  EXPECT_EQ(point_of(kLine, Figure::kLoss), (CurvePoint{40, 2.3125}));
  EXPECT_EQ(point_of(kLine, Figure::kMfu), (CurvePoint{40, 41.7}));
  EXPECT_EQ(point_of("step 1/2  loss 5.0", Figure::kMfu), std::nullopt);
  EXPECT_EQ(point_of("step 1/2  loss nan", Figure::kLoss), std::nullopt);
  EXPECT_EQ(point_of("info agent-0: checkpoint of step 3 in 2 s", Figure::kLoss), std::nullopt);
}

TEST(StepCurve, OfAStepThatWasDoneAgainTakesTheLastOne) {
  EXPECT_THAT(by_step({{1, 5}, {2, 4}, {3, 9}, {2, 3}}),
              ElementsAre(CurvePoint{1, 5}, CurvePoint{2, 3}, CurvePoint{3, 9}));
}

TEST(StepCurve, FallsFromLeftToRight) {
  const CurveLook look{.width = 21, .height = 4, .ascii = true};
  EXPECT_EQ(draw_curve({{1, 4}, {2, 3}, {3, 2}, {4, 1}}, look),
            "     4.15 |***\n"
            "          |   ***\n"
            "          |      ***\n"
            "     0.85 |         *\n"
            "           step 1   4\n");
}

TEST(StepCurve, OfOnePointIsADotAndOfAConstantALine) {
  EXPECT_THAT(draw_curve({{7, 1}}, {.width = 40, .height = 5, .ascii = true}), ::testing::HasSubstr("*"));
  EXPECT_THAT(draw_curve({{1, 1}, {9, 1}}, {.width = 40, .height = 5}), ::testing::HasSubstr("step 1"));
}

}  // namespace
}  // namespace caravan::cli
