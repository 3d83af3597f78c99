// The operator dies at each of its writes, before the write leaves or once it has the answer, or the write or
// its answer is lost: the job of the scenario always ends the same. tests/kube shows it with a real API
// server.
#include <gmock/gmock.h>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "operator/testing/crash_scenario.h"
#include "operator/testing/model_cluster.h"

namespace caravan::controller::testing {
namespace {

struct CrashingWorld {
  explicit CrashingWorld(std::function<Fate(int)> fate) : scenario(cluster, std::move(fate)) {}

  std::string run() { return scenario.run(); }
  int writes() const { return scenario.writes(); }
  const std::vector<std::string>& told() const { return scenario.told(); }

  ModelCluster cluster;
  CrashScenario scenario;
};

TEST(Crashes, AnUndisturbedJobCompletesInItsFifthAttempt) {
  CrashingWorld world([](int) { return Fate::kDone; });
  const std::string end = world.run();
  EXPECT_THAT(end, ::testing::HasSubstr(R"("state":"Complete")"));
  EXPECT_THAT(end, ::testing::HasSubstr(R"("attempt":5,"restarts":3)"));
  EXPECT_THAT(end,
              ::testing::HasSubstr(R"("memoryCorrection":{"term":"activations","percent":200,"attempt":4})"));
  EXPECT_THAT(end, ::testing::HasSubstr("Planned again"));
  EXPECT_THAT(end, ::testing::HasSubstr("pods/train-0-a5\npods/train-1-a5\nservices/train"));
}

// Each write meets that fate once, one of nine each day.
void expect_the_same_end(Fate fate, const std::string& what) {
  CrashingWorld undisturbed([](int) { return Fate::kDone; });
  const std::string wanted = undisturbed.run();
  ASSERT_GT(undisturbed.writes(), 20);
  const test::Sample sample(9);
  for (int victim = 1; victim <= undisturbed.writes(); ++victim) {
    if (!sample.takes(static_cast<std::size_t>(victim))) continue;
    CrashingWorld world([&](int write) { return write == victim ? fate : Fate::kDone; });
    EXPECT_EQ(world.run(), wanted) << "write " << victim << " " << what;
    // After a write that took effect unknown to the operator, nothing is left to tell.
    if (fate != Fate::kLostBefore) continue;
    EXPECT_EQ(world.told(), undisturbed.told()) << "write " << victim << " " << what;
  }
}

TEST(Crashes, AWriteThatIsLostChangesNothingInTheEnd) {
  CARAVAN_BY_TURNS();
  expect_the_same_end(Fate::kLostBefore, "was lost");
}

TEST(Crashes, AnAnswerThatIsLostChangesNothingInTheEnd) {
  CARAVAN_BY_TURNS();
  expect_the_same_end(Fate::kReplyLost, "lost its answer");
}

TEST(Crashes, BeforeAWriteChangeNothingInTheEnd) {
  CARAVAN_BY_TURNS();
  expect_the_same_end(Fate::kDiesBefore, "never left");
}

TEST(Crashes, AfterAnAnswerChangeNothingInTheEnd) {
  CARAVAN_BY_TURNS();
  expect_the_same_end(Fate::kDiesAfter, "was the last one");
}

// About half of all writes, here and there, the same ones each time.
bool is_unlucky(int write, unsigned seed) {
  return (static_cast<unsigned>(write) * 2654435761U + seed * 40503U) >> 16U & 1U;
}

TEST(Crashes, InHalfOfAllWritesChangeNothingEither) {
  CARAVAN_BY_TURNS();
  CrashingWorld undisturbed([](int) { return Fate::kDone; });
  const std::string wanted = undisturbed.run();
  const test::Sample sample(5);
  for (unsigned seed = 0; seed < 10; ++seed) {
    if (!sample.takes(seed)) continue;
    CrashingWorld world([seed](int write) {
      if (!is_unlucky(write, seed)) return Fate::kDone;
      if (is_unlucky(write, seed + 200))
        return is_unlucky(write, seed + 300) ? Fate::kDiesBefore : Fate::kDiesAfter;
      return is_unlucky(write, seed + 100) ? Fate::kLostBefore : Fate::kReplyLost;
    });
    EXPECT_EQ(world.run(), wanted) << "seed " << seed;
  }
}

}  // namespace
}  // namespace caravan::controller::testing
