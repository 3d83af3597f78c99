#include "cli/cluster/step_curve.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

namespace caravan::cli {
namespace {

using ::testing::ElementsAre;

constexpr const char* kLine =
    "2026-01-01T00:00:00.000 info agent-0: step 40/1,000  loss 2.3125  val_loss 2.5  grad_norm 1.20  tok/s "
    "7,123  mfu 41.7 % (predicted 43.0)  eta 2h13m";

std::optional<CurvePoint> point_in(std::string_view line, Figure figure) {
  const auto point = point_of(line, figure);
  if (!point) ADD_FAILURE() << point.error().message;
  return point ? *point : std::nullopt;
}

TEST(StepCurve, ReadsTheLinesOfSteps) {
  EXPECT_EQ(point_in(kLine, Figure::kLoss), (CurvePoint{40, 2.3125}));
  EXPECT_EQ(point_in(kLine, Figure::kMfu), (CurvePoint{40, 41.7}));
  EXPECT_EQ(point_in("step 1/2  loss 5.0", Figure::kMfu), std::nullopt);
  EXPECT_EQ(point_in("info agent-0: checkpoint of step 3 in 2 s", Figure::kLoss), std::nullopt);
}

TEST(StepCurve, SaysWhatOfALineCannotBeDrawn) {
  const std::map<std::string, std::string> refused{
      {"step 1/2  loss nan", "step 1/2 with loss nan"},
      {"step 1/2  loss -inf  lr 1", "step 1/2 with loss -inf"},
      {"step 1/2  loss 1e308", "step 1/2 with loss 1e308"},
      {"step 1/2  loss 1e9999", "step 1/2 with loss 1e9999"},
      {"step 1/2  loss -2e100", "step 1/2 with loss -2e100"},
      {"step 1/2  loss none", "step 1/2 with loss none"},
      {"step 99999999999/2  loss 1", "step 99999999999/2 with loss 1"},
      {"step 1e300/2  loss 1\x1b[2J", "step 1e300/2 with loss 1"},
      {"step -1/2  loss 1", "step -1/2 with loss 1"}};
  for (const auto& [line, words] : refused) {
    const auto point = point_of(line, Figure::kLoss);
    ASSERT_FALSE(point) << line;
    EXPECT_THAT(point.error().message, ::testing::StartsWith(words));
    EXPECT_EQ(point.error().message.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(drawable("nan"), std::nullopt);
  EXPECT_EQ(drawable("1e100"), 1e100);
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

TEST(StepCurve, HoldsTheLargestStepsAndNumbersThatThereAre) {
  constexpr int kLast = std::numeric_limits<int>::max();
  const CurveLook look{.width = 21, .height = 3, .ascii = true, .unit = " %", .level = -kMostDrawn};
  EXPECT_EQ(draw_curve({{0, -kMostDrawn}, {kLast, kMostDrawn}}, look),
            " 1.1e+100 % |         *\n"
            "            |     ****\n"
            "-1.1e+100 % |*****   *\n"
            "             step 0 2147483647\n");
  EXPECT_THAT(draw_curve({{kLast, 1e-300}}, look), ::testing::HasSubstr("*"));
}

TEST(StepCurve, OfOnePointIsADotAndOfAConstantALine) {
  EXPECT_THAT(draw_curve({{7, 1}}, {.width = 40, .height = 5, .ascii = true}), ::testing::HasSubstr("*"));
  EXPECT_THAT(draw_curve({{1, 1}, {9, 1}}, {.width = 40, .height = 5}), ::testing::HasSubstr("step 1"));
}

}  // namespace
}  // namespace caravan::cli
