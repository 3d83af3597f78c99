// What operator/controller/crash_test.cc shows on a model, on a real API server: the operator dies at each of
// its writes, before the write leaves, while the answer is under way, or once it has it. The next one knows
// nothing but what the server says.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "common/testing/sample.h"
#include "tests/crd/job_server.h"
#include "tests/kube/witnessed_server.h"

namespace caravan::controller::testing {
namespace {

// Most of a run is waiting for the server.
constexpr int kRunsAtOnce = 4;

struct End {
  std::string looks;
  int writes = 0;
};

class ServerCrashes : public ::testing::Test {
 protected:
  End run(std::function<Fate(int)> fate) {
    WitnessedServer cluster(server_);
    CrashScenario scenario(cluster, std::move(fate));
    const std::string looks = scenario.run();
    return {looks, scenario.writes()};
  }

  // Each write of the sample meets that fate once.
  void expect_the_same_end(Fate fate, const std::string& what) {
    const End undisturbed = run([](int) { return Fate::kDone; });
    ASSERT_GT(undisturbed.writes, 20);
    const test::Sample sample(6);
    std::atomic<int> next = 1;
    const auto take_turns = [&] {
      for (int victim = next++; victim <= undisturbed.writes; victim = next++) {
        if (!sample.takes(victim)) continue;
        const End end = run([&](int write) { return write == victim ? fate : Fate::kDone; });
        EXPECT_GE(end.writes, victim) << "it did not come to write " << victim;
        EXPECT_EQ(end.looks, undisturbed.looks) << "write " << victim << " " << what;
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < kRunsAtOnce; ++i) threads.emplace_back(take_turns);
  }

  kube::testing::JobServer jobs_;  // brings the definition of the resource
  kube::testing::ServerClient server_;
};

TEST_F(ServerCrashes, AnUndisturbedJobCompletesInItsFifthAttempt) {
  const std::string end = run([](int) { return Fate::kDone; }).looks;
  EXPECT_THAT(end, ::testing::HasSubstr(R"("state":"Complete")"));
  EXPECT_THAT(end, ::testing::HasSubstr(R"("attempt":5,"restarts":3)"));
  EXPECT_THAT(
      end, ::testing::HasSubstr("\npods/train-0-a5\npods/train-1-a5\nservices/train\nconfigmaps/"
                                "train-plan\nconfigmaps/train-plan-a5"
                                "\nserviceaccounts/train\nnetworkpolicies/train\nsecrets/train-tls-SET-0"));
}

TEST_F(ServerCrashes, BeforeAWriteChangeNothingInTheEnd) {
  expect_the_same_end(Fate::kDiesBefore, "never left");
}

TEST_F(ServerCrashes, WithAnAnswerUnderWayChangeNothingInTheEnd) {
  expect_the_same_end(Fate::kReplyLost, "lost its answer");
}

TEST_F(ServerCrashes, AfterAnAnswerChangeNothingInTheEnd) {
  expect_the_same_end(Fate::kDiesAfter, "was the last one");
}

}  // namespace
}  // namespace caravan::controller::testing
