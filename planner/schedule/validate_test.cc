#include "planner/schedule/validate.h"

#include <gtest/gtest.h>

#include "planner/schedule/generate.h"
#include "planner/testing/golden_lists.h"

namespace caravan::planner {
namespace {

TEST(ValidateSchedule, AcceptsTheGoldenLists) {
  for (const GoldenList& golden : golden_lists()) {
    const Status status = validate_schedule(parse_op_lists(golden.stages, golden.shape));
    EXPECT_TRUE(status) << golden.name << ": " << status.error().message;
  }
}

struct BrokenList {
  std::string what;
  ScheduleShape shape;
  std::vector<std::string> stages;
  std::string says;
};

TEST(ValidateSchedule, SaysWhatIsWrong) {
  const BrokenList cases[] = {
      {"a forward is missing",
       {.micro_batches = 2},
       {"F0 B0 B1"},
       "stage 0: micro-batch 1 segment 0 chunk 0 has 0 forwards"},
      {"a backward runs twice", {}, {"F0 B0 B0"}, "has 1 forwards, 2 backwards"},
      {"the weights are forgotten",
       {.micro_batches = 2},
       {"F0 B0 W0 F1 B1"},
       "1 of the input, 0 of the weights"},
      {"an unknown micro-batch", {}, {"F0 B0 F1"}, "stage 0, F1: outside the schedule's micro-batches"},
      {"backward before forward",
       {},
       {"B0 F0"},
       "stage 0, B0: never runs, it waits for activations from stage 0"},
      {"weights before the input's gradient",
       {},
       {"F0 W0 B0"},
       "stage 0, W0: never runs, it waits for a gradient from stage 0"},
      {"stages that wait for each other",
       {.micro_batches = 2},
       {"F0 B0 F1 B1", "F0 F1 B0 B1"},
       "stage 0, B0: never runs, it waits for a gradient from stage 1"},
      {"segments out of order",
       {.segments = 2},
       {"F0.0 F0.1 B0.0 B0.1"},
       "stage 0, B0.0: never runs, it waits for a gradient"},
  };
  for (const BrokenList& broken : cases) {
    const Status status = validate_schedule(parse_op_lists(broken.stages, broken.shape));
    ASSERT_FALSE(status) << broken.what;
    EXPECT_NE(status.error().message.find(broken.says), std::string::npos)
        << broken.what << ": " << status.error().message;
  }
}

TEST(ValidateSchedule, RefusesAScheduleWithoutTheListOfEveryStage) {
  Schedule schedule = generate_schedule({.stages = 2, .micro_batches = 2});
  schedule.ops.pop_back();
  const Status status = validate_schedule(schedule);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the schedule has 1 op lists for 2 stages");
}

TEST(ValidateSchedule, TellsWhoWaitsForWhatUntilItComesRound) {
  const Schedule schedule =
      parse_op_lists({"F0 B0 F1 B1", "F0 F1 B0 B1", "F0 F1 B0 B1"}, {.micro_batches = 2});
  const Status status = validate_schedule(schedule);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "stage 0, B0: never runs, it waits for a gradient from stage 1; "
            "stage 1, F1: never runs, it waits for activations from stage 0");
}

// Fine for who sorts what arrives; not where a channel hands it over in the order in which it was sent.
TEST(ValidateSchedule, WantsWhatANeighbourSendsTakenInThatOrder) {
  const Schedule schedule = parse_op_lists({"F0 F1 B1 B0", "F1 F0 B1 B0"}, {.micro_batches = 2});
  const Status status = validate_schedule(schedule);
  ASSERT_FALSE(status);
  EXPECT_NE(
      status.error().message.find(
          "stage 1, F1: never runs, it waits for activations from stage 0, which sent those of F0 first"),
      std::string::npos)
      << status.error().message;
}

// Each stage wants to get rid of its second message before it takes the other's first.
TEST(ValidateSchedule, FindsTheDeadlockOfSendsThatWaitForTheirReceiver) {
  const Schedule schedule =
      parse_op_lists({"F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 B0 B1 F2 F3 B2 B3"}, {.micro_batches = 4});
  EXPECT_TRUE(validate_schedule(schedule));
  EXPECT_TRUE(validate_schedule(schedule, {.messages_under_way = 2}));
  const Status status = validate_schedule(schedule, {.messages_under_way = 1});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "stage 0, B0: never runs, an earlier send to stage 1, of F3, is never received; "
            "stage 1, F2: never runs, an earlier send to stage 0, of B1, is never received");
}

TEST(ValidateSchedule, HoldsStagesToTheirPromise) {
  const Schedule gpipe = generate_schedule({.kind = ScheduleKind::GPipe, .stages = 2, .micro_batches = 4});
  const Status status = validate_schedule(gpipe, {.peaks = {2, 1}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "stage 0: holds 4 micro-batches at once, promised were 2");
}

}  // namespace
}  // namespace caravan::planner
