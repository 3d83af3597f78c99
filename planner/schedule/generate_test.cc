#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "planner/schedule/golden_lists.h"
#include "planner/schedule/validate.h"

namespace caravan::planner {
namespace {

void expect_valid(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  std::vector<double> promised;
  for (int stage = 0; stage < stages; ++stage)
    promised.push_back(promised_peak(kind, stages, micro_batches, stage, chunks));
  const Status status = validate_schedule(generate_schedule(kind, stages, micro_batches, chunks), promised);
  EXPECT_TRUE(status) << schedule_name(kind) << " p=" << stages << " m=" << micro_batches << " v=" << chunks
                      << ": " << status.error().message;
}

TEST(GenerateSchedule, OneFOneBEqualsTheGoldenList) {
  const GoldenList golden = golden_list("1F1B");
  EXPECT_EQ(generate_schedule(ScheduleKind::OneFOneB, 3, 4), parse_op_lists(golden.stages, golden.shape));
}

TEST(GenerateSchedule, GPipeRunsAllForwardsFirst) {
  const Schedule golden = parse_op_lists({"F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"}, {.micro_batches = 3});
  EXPECT_EQ(generate_schedule(ScheduleKind::GPipe, 2, 3), golden);
}

TEST(GenerateSchedule, InterleavedEqualsTheGoldenList) {
  const GoldenList golden = golden_list("Interleaved");
  EXPECT_EQ(generate_schedule(ScheduleKind::Interleaved, 2, 4, 2),
            parse_op_lists(golden.stages, golden.shape));
}

TEST(GenerateSchedule, InterleavedStagesAreValidAndHoldNoMoreThanTheyPromise) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int rounds = 1; rounds <= 4; ++rounds) {
      for (int chunks = 2; chunks <= 4; ++chunks) {
        expect_valid(ScheduleKind::Interleaved, stages, rounds * stages, chunks);
      }
    }
  }
}

TEST(GenerateSchedule, EveryScheduleIsValidAndHoldsNoMoreThanItPromises) {
  for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
    for (int stages = 1; stages <= 9; ++stages) {
      for (int micro_batches = 1; micro_batches <= 20; ++micro_batches) {
        expect_valid(kind, stages, micro_batches, 1);
      }
    }
  }
}

TEST(ScheduleName, IsReadBack) {
  for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved}) {
    EXPECT_EQ(schedule_from_name(schedule_name(kind)), kind);
  }
  EXPECT_EQ(schedule_from_name("1f1b"), std::nullopt);
}

TEST(OpText, IsReadBack) {
  for (const GoldenList& golden : golden_lists()) {
    const Schedule schedule = parse_op_lists(golden.stages, golden.shape);
    for (size_t stage = 0; stage < golden.stages.size(); ++stage) {
      std::vector<std::string> words;
      for (const Op& op : schedule.ops[stage]) words.push_back(op_text(op, schedule));
      EXPECT_EQ(fmt::format("{}", fmt::join(words, " ")), golden.stages[stage]) << golden.name;
    }
  }
}

}  // namespace
}  // namespace caravan::planner
