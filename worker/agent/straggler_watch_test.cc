#include "worker/agent/straggler_watch.h"

#include <gmock/gmock.h>

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Ranks that are named in one of so many steps.
std::vector<int> named(StragglerWatch& watch, const std::vector<double>& work_seconds, int steps) {
  std::vector<int> ranks;
  for (int step = 0; step < steps; ++step) {
    for (const Straggler& slow : watch.add(work_seconds)) ranks.push_back(slow.rank);
  }
  return ranks;
}

TEST(StragglerWatch, ARankThatIsSlowForTwentyStepsIsNamedOnce) {
  StragglerWatch watch(4, 4);
  const std::vector<double> slow{1, 1, 1.2, 1.1};
  EXPECT_THAT(named(watch, slow, 19), IsEmpty());
  EXPECT_THAT(named(watch, slow, 100), ElementsAre(2));
  watch.reset();
  EXPECT_THAT(named(watch, slow, 20), ElementsAre(2)) << "in the next attempt again";
}

TEST(StragglerWatch, OneStepAsFastAsOthersBeginsTheCountAnew) {
  StragglerWatch watch(2, 2);
  named(watch, {1, 2}, 19);
  named(watch, {1, 1}, 1);
  EXPECT_THAT(named(watch, {1, 2}, 19), IsEmpty());
  EXPECT_THAT(named(watch, {1, 2}, 1), ElementsAre(1));
}

TEST(StragglerWatch, RanksAreHeldAgainstTheirOwnStage) {
  StragglerWatch watch(4, 2);
  EXPECT_THAT(named(watch, {1, 1, 3, 3}, 20), IsEmpty()) << "the second stage has more to do";
  EXPECT_THAT(watch.ratios(), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(named(watch, {1, 1.5, 3, 3}, 20), ElementsAre(1));
}

TEST(StragglerWatch, ARatioIsToTheMedianOfTheOthers) {
  StragglerWatch watch(4, 4);
  watch.add({1, 2, 4, 8});
  EXPECT_THAT(watch.ratios(), ElementsAre(0.25, 0.5, 2, 4));
  StragglerWatch three(3, 3);
  three.add({1, 2, 4});
  EXPECT_THAT(three.ratios(), ElementsAre(DoubleEq(1.0 / 3), DoubleEq(2 / 2.5), DoubleEq(4 / 1.5)));
  StragglerWatch alike(3, 3);
  alike.add({2, 2, 2});
  EXPECT_THAT(alike.ratios(), ElementsAre(1, 1, 1));
}

TEST(StragglerWatch, AStageOfOneRankIsHeldAgainstNothing) {
  StragglerWatch watch(2, 1);
  EXPECT_THAT(named(watch, {1, 9}, 40), IsEmpty());
  EXPECT_THAT(watch.ratios(), IsEmpty());
}

TEST(StragglerWatch, AFewMillisecondsAreNothing) {
  StragglerWatch watch(2, 2);
  EXPECT_THAT(named(watch, {0.001, 0.01}, 40), IsEmpty());
  EXPECT_THAT(watch.ratios(), ElementsAre(DoubleEq(0.1), DoubleEq(10)));
}

TEST(StragglerWatch, RanksThatReportNoWorkHaveNoRatio) {
  StragglerWatch watch(2, 2);
  EXPECT_THAT(named(watch, {0, 0}, 40), IsEmpty());
  EXPECT_THAT(watch.ratios(), ElementsAre(0, 0));
}

TEST(StragglerWatch, OfManyAFewAreNamed) {
  constexpr int kRanks = 1000;
  StragglerWatch watch(kRanks, kRanks);
  std::vector<double> work(kRanks, 1);
  for (int rank = 0; rank < 400; ++rank) work[static_cast<std::size_t>(rank)] = 2;
  EXPECT_THAT(named(watch, work, 100), SizeIs(16));
}

TEST(StragglerWatch, TheEventSaysWhoAndByHowMuch) {
  EXPECT_THAT(describe_straggler({.rank = 5, .ratio = 1.404}, 1, 140),
              AllOf(HasSubstr("rank 5 on node 1"), HasSubstr("in step 140 1.40 times"),
                    HasSubstr("20 steps in a row")));
}

}  // namespace
}  // namespace caravan::agent
