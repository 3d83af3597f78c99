#include "worker/agent/stall.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kRanksPerNode = 4;

RankAnswer silent(int rank) {
  return {.rank = rank, .node = rank / kRanksPerNode};
}

RankAnswer works(int rank, const std::string& phase, double seconds) {
  RankAnswer answer = silent(rank);
  answer.activity.emplace().set_phase(phase);
  answer.activity->set_seconds(seconds);
  return answer;
}

RankAnswer waits(int rank, const std::string& operation, const std::string& axis,
                 std::optional<int> peer = std::nullopt) {
  RankAnswer answer = works(rank, "communication", 30);
  answer.activity->set_operation(operation);
  answer.activity->set_axis(axis);
  if (peer) answer.activity->set_peer(*peer);
  return answer;
}

RankAnswer saves(int rank, const std::string& doing, double seconds) {
  RankAnswer answer = waits(rank, "all_gather", "embedding");
  answer.activity->set_seconds(0.05);
  answer.activity->mutable_saving()->set_doing(doing);
  answer.activity->mutable_saving()->set_seconds(seconds);
  return answer;
}

Stall after_step_120(std::vector<RankAnswer> answers) {
  return {.silent_seconds = 34.9,
          .attempt = 2,
          .last_step = 120,
          .usual_step_seconds = 2.1,
          .answers = std::move(answers)};
}

TEST(Stall, ARankThatDoesNotAnswerIsNamedWithWhatOthersWaitFor) {
  std::vector<RankAnswer> answers;
  for (int rank = 0; rank < 8; ++rank) {
    if (rank == 5) {
      answers.push_back(silent(rank));
    } else {
      answers.push_back(rank < 4 ? waits(rank, "recv", "pipeline", 1) : waits(rank, "all_reduce", "tensor"));
    }
  }
  const Failure failure = describe_stall(after_step_120(answers));
  EXPECT_EQ(failure.reason, reasons::kStalled);
  EXPECT_EQ(failure.what,
            "no step finished for 34 s after step 120 (steps take 2.1 s): rank 5 on node 1 does not answer; "
            "7 others wait in recv from stage 1 (4), all_reduce over tensor (3)");
  EXPECT_EQ(failure.rank, 5);
  EXPECT_EQ(failure.suspect_node, 1);
}

TEST(Stall, WhenAllAnswerTheOneThatWaitsForNobodyIsNamed) {
  const Failure failure =
      describe_stall(after_step_120({waits(0, "all_gather", "data"), waits(1, "send", "pipeline", 1),
                                     waits(2, "recv", "data", 0), works(3, "forward", 33.2)}));
  EXPECT_THAT(failure.what, HasSubstr("rank 3 on node 0 has been in forward for 33 s; 3 others wait in"));
  EXPECT_THAT(failure.what, HasSubstr("send to stage 1 (1)"));
  EXPECT_THAT(failure.what, HasSubstr("recv from rank 0 along data (1)"));
  EXPECT_EQ(failure.rank, 3);
  EXPECT_EQ(failure.suspect_node, 0);
}

TEST(Stall, OfSeveralTheOneThatHasBeenThereLongestIsNamedFirst) {
  const Failure failure = describe_stall(
      after_step_120({works(0, "data", 20), works(4, "forward", 33), waits(1, "barrier", "embedding")}));
  EXPECT_THAT(
      failure.what,
      HasSubstr(
          "rank 4 on node 1 has been in forward for 33 s; rank 0 on node 0 has been in data for 20 s; 1 "
          "other waits in barrier over embedding (1)"));
  EXPECT_EQ(failure.rank, 4);
  EXPECT_FALSE(failure.suspect_node) << "on two nodes";
}

TEST(Stall, ARankThatBeganItsWorkLatelyHoldsUpNobody) {
  const Failure failure =
      describe_stall(after_step_120({works(0, "backward", 0.2), waits(1, "all_reduce", "tensor")}));
  EXPECT_THAT(failure.what, HasSubstr("1 work in backward (1); 1 other waits"));
  EXPECT_EQ(failure.rank, -1);
  EXPECT_FALSE(failure.suspect_node);
}

TEST(Stall, InACheckpointForWhichAllWaitTheOneThatStillWritesIsNamed) {
  const std::string writes = "writing its part of the checkpoint of step 120";
  const Failure one = describe_stall(after_step_120(
      {waits(0, "all_gather", "embedding"), saves(5, writes, 33), works(6, "checkpoint", 0.01)}));
  EXPECT_THAT(one.what,
              HasSubstr("rank 5 on node 1 has been writing its part of the checkpoint of step 120 for "
                        "33 s; 1 work in checkpoint (1); 1 other waits in all_gather over embedding"));
  EXPECT_EQ(one.rank, 5);
  EXPECT_FALSE(one.suspect_node) << "a volume says nothing of the machine";
  EXPECT_THAT(one.advice, HasSubstr("the volume of spec.checkpoint.path"));

  const Failure all = describe_stall(after_step_120({saves(0, writes, 33), saves(1, writes, 34)}));
  EXPECT_THAT(all.what, HasSubstr("rank 1 on node 0 has been writing"));
  EXPECT_EQ(all.rank, 1);

  const Failure begun =
      describe_stall(after_step_120({saves(0, writes, 0.2), waits(1, "barrier", "embedding")}));
  EXPECT_EQ(begun.rank, -1) << "it began lately";
}

TEST(Stall, WhoHangsInAskingTheOthersIsNotToBlameForItsPartOfACheckpoint) {
  RankAnswer first = saves(0, "writing its part of the checkpoint of step 120", 34);
  first.activity->set_seconds(30);
  const Failure failure = describe_stall(after_step_120({first, waits(1, "all_gather", "embedding")}));
  EXPECT_THAT(failure.what, HasSubstr("all 2 ranks wait in all_gather over embedding (2)"));
  EXPECT_EQ(failure.rank, -1);
  EXPECT_THAT(failure.advice, HasSubstr("network"));
}

// A device that has stopped, and hosts that have come to the end of the step and wait for its rank.
TEST(Stall, WhereHostsWaitTheDeviceThatHasNotEndedItsStepIsNamed) {
  const Failure failure = describe_stall(after_step_120(
      {waits(0, "synchronize", "device"), waits(4, "recv", "pipeline", 0), waits(8, "recv", "pipeline", 1)}));
  EXPECT_THAT(failure.what, HasSubstr("rank 0 on node 0 has been waiting for its device for 30 s; 2 others "
                                      "wait in recv from stage 0 (1), recv from stage 1 (1)"));
  EXPECT_EQ(failure.rank, 0);
  EXPECT_EQ(failure.suspect_node, 0);
}

TEST(Stall, DevicesThatWaitForARankAreNotNamedBeforeIt) {
  std::vector<RankAnswer> answers{works(3, "data", 34)};
  for (const int rank : {0, 1, 2}) answers.push_back(waits(rank, "synchronize", "device"));
  answers.push_back(waits(4, "recv", "pipeline", 0));
  const Failure failure = describe_stall(after_step_120(answers));
  EXPECT_EQ(failure.rank, 3);
  EXPECT_THAT(failure.what, HasSubstr("4 others wait in synchronize over device (3), recv from stage 0 (1)"));
  answers.front() = silent(3);
  EXPECT_EQ(describe_stall(after_step_120(answers)).rank, 3);
  EXPECT_THAT(describe_stall(after_step_120(answers)).what, HasSubstr("4 others wait in synchronize"));
  answers = {waits(0, "synchronize", "device"), waits(1, "synchronize", "device")};
  EXPECT_EQ(describe_stall(after_step_120(answers)).rank, -1) << "either may wait for the other";
}

TEST(Stall, WhenAllWaitNobodyIsToBlame) {
  const Failure failure =
      describe_stall(after_step_120({waits(0, "all_reduce", "tensor"), waits(1, "all_reduce", "tensor")}));
  EXPECT_THAT(failure.what, HasSubstr("all 2 ranks wait in all_reduce over tensor (2)"));
  EXPECT_EQ(failure.rank, -1);
  EXPECT_THAT(failure.advice, HasSubstr("network"));
}

TEST(Stall, BeforeTheFirstStepsTheTimeoutIsNamed) {
  const Failure failure = describe_stall({.silent_seconds = 600.2,
                                          .attempt = 3,
                                          .usual_step_seconds = {},
                                          .answers = {works(0, "restore", 590)}});
  EXPECT_THAT(failure.what,
              HasSubstr("no step finished for 600 s (stallTimeoutSeconds) since attempt 3 began: rank 0 "
                        "on node 0 has been in restore for 590 s"));
}

TEST(Stall, OfTenThousandRanksTheMessageIsShort) {
  std::vector<RankAnswer> quiet;
  std::vector<RankAnswer> busy;
  std::vector<RankAnswer> waiting;
  for (int rank = 0; rank < 10000; ++rank) {
    quiet.push_back(silent(rank));
    busy.push_back(works(rank, "forward", 30));
    waiting.push_back(waits(rank, "recv", "pipeline", rank / 10));
  }
  for (const auto& answers : {quiet, busy, waiting}) {
    const Failure failure = describe_stall(after_step_120(answers));
    EXPECT_THAT(failure.what, SizeIs(Le(500U))) << failure.what;
    EXPECT_THAT(failure.what, Not(HasSubstr("rank 9999")));
  }
  EXPECT_THAT(describe_stall(after_step_120(quiet)).what,
              HasSubstr("rank 0 on node 0, rank 1 on node 0, rank 2 on node 0 and 9997 more do not answer"));
  EXPECT_THAT(describe_stall(after_step_120(waiting)).what, HasSubstr("others (9940)"));
}

}  // namespace
}  // namespace caravan::agent
