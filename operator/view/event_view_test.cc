// Events and names of pods, which anybody may write.
#include "operator/view/event_view.h"

#include <gtest/gtest.h>

#include <climits>

#include "operator/api/pod_names.h"

namespace caravan::controller::testing {
namespace {

EventView read(const std::string& fields) {
  return read_event(kube::parse_json("{" + fields + "}", "event").value());
}

TEST(EventView, IsReadOfOldAndNewPrograms) {
  EXPECT_EQ(read(R"("type": "Warning", "reason": "FailedMount", "note": "timed out",
                    "regarding": {"kind": "Pod", "name": "train-0-a1"}, "eventTime": "2030-01-01T00:00:00Z",
                    "series": {"count": 4, "lastObservedTime": "2030-01-02T00:00:00Z"})"),
            (EventView{.time = "2030-01-02T00:00:00Z",
                       .is_warning = true,
                       .kind = "Pod",
                       .name = "train-0-a1",
                       .reason = "FailedMount",
                       .message = "timed out",
                       .count = 4}));
  EXPECT_EQ(
      read(R"("deprecatedCount": 3, "eventTime": null, "deprecatedLastTimestamp": "2030-01-03T00:00:00Z")"),
      (EventView{.time = "2030-01-03T00:00:00Z", .count = 3}));
  EXPECT_EQ(read(""), EventView{});
}

TEST(EventView, HasTheFirstTimeThatIsKnown) {
  std::string fields = R"("metadata": {"creationTimestamp": "2030-01-01T00:00:00Z"})";
  EXPECT_EQ(read(fields).time, "2030-01-01T00:00:00Z");
  fields += R"(, "deprecatedLastTimestamp": "2030-01-02T00:00:00Z")";
  EXPECT_EQ(read(fields).time, "2030-01-02T00:00:00Z");
  fields += R"(, "eventTime": "2030-01-03T00:00:00.000000Z")";
  EXPECT_EQ(read(fields).time, "2030-01-03T00:00:00.000000Z");
  fields += R"(, "series": {"lastObservedTime": "2030-01-04T00:00:00.000000Z"})";
  EXPECT_EQ(read(fields).time, "2030-01-04T00:00:00.000000Z");
}

TEST(EventView, GivesATerminalNothingButText) {
  const EventView view = read(R"("reason": "\u001b[2JGone\n", "note": "one\ntwo\u0007",
                                 "regarding": {"kind": "Pod", "name": "train-0\u001b]0;x\u0007"})");
  EXPECT_EQ(view.reason, "[2JGone ");
  EXPECT_EQ(view.message, "one two");
  EXPECT_EQ(view.name, "train-0]0;x");
  EXPECT_LE(read(R"("note": ")" + std::string(5000, 'x') + '"').message.size(), 1024U);
}

TEST(EventView, CountsAtLeastOnceAndAtMostWhatAnIntegerHolds) {
  EXPECT_EQ(read(R"("series": {"count": -5})").count, 1);
  EXPECT_EQ(read(R"("deprecatedCount": 9000000000)").count, INT_MAX);
}

TEST(PodNames, TellTheJobsOwnPodsFromOthers) {
  EXPECT_TRUE(is_pod_of("train", pod_name("train", 12, 3)));
  for (const char* other : {"train", "train-0", "train-0-a", "train--a1", "train-0-a1-x", "train-0-a1x",
                            "train2-0-a1", "train-x-a1", "other-0-a1", "xtrain-0-a1", "", "train-0-b1"})
    EXPECT_FALSE(is_pod_of("train", other)) << other;
  EXPECT_FALSE(is_pod_of("train", pod_name("train-0-a1", 0, 1))) << "a job may be named like a pod";
}

// Nothing checks the name in an event.
TEST(PodNames, ANameOfAMegabyteIsNoPods) {
  const std::string digits(std::size_t{1} << 20, '1');
  EXPECT_FALSE(is_pod_of("train", "train-" + digits + "-a1"));
  EXPECT_FALSE(is_pod_of("train", "train-0-a" + digits));
  EXPECT_FALSE(is_pod_of("train", digits));
}

}  // namespace
}  // namespace caravan::controller::testing
