// Which events are about a job, and what is told of each.
#include "service/methods/event_methods.h"

#include <gtest/gtest.h>

namespace caravan::service {
namespace {

std::optional<v1alpha1::JobEventRecord> read(const std::string& kind, const std::string& name,
                                             const std::string& more = "") {
  const std::string text = R"({"regarding": {"kind": ")" + kind + R"(", "name": ")" + name + R"("},
      "metadata": {"creationTimestamp": "2030-01-01T00:00:00Z"}, "type": "Warning", "reason": "R", "note": "n")" +
                           more + "}";
  return record_of(kube::parse_json(text, "event").value(), "train");
}

TEST(EventMethods, AnEventIsAboutTheJobOrAPodOfItsNames) {
  EXPECT_TRUE(read("LlamaTrainingJob", "train"));
  EXPECT_TRUE(read("Pod", "train-12-a3"));
  for (const char* other : {"train", "train-0", "train-0-a1-x", "train2-0-a1", "other-0-a1", "train-x-a1"})
    EXPECT_FALSE(read("Pod", other)) << other;
  EXPECT_FALSE(read("LlamaTrainingJob", "train-0-a1"));
  EXPECT_FALSE(read("Service", "train"));
}

// Nothing checks what an event says that it is about.
TEST(EventMethods, ANameOfAMegabyteIsNoPods) {
  const std::string digits(std::size_t{1} << 20, '1');
  EXPECT_FALSE(read("Pod", "train-" + digits + "-a1"));
  EXPECT_FALSE(read("Pod", "train-0-a" + digits));
}

TEST(EventMethods, ASeriesHasItsCountAndItsLastTime) {
  const auto once = read("Pod", "train-0-a1");
  EXPECT_EQ(once->count(), 1);
  EXPECT_EQ(once->time(), "2030-01-01T00:00:00Z");
  EXPECT_EQ(once->about(), "Pod/train-0-a1");
  const auto series = read("Pod", "train-0-a1", R"(, "eventTime": "2030-01-02T00:00:00Z",
      "series": {"count": 7, "lastObservedTime": "2030-01-03T00:00:00Z"})");
  EXPECT_EQ(series->count(), 7);
  EXPECT_EQ(series->time(), "2030-01-03T00:00:00Z");
  const auto old = read("Pod", "train-0-a1", R"(, "eventTime": null, "deprecatedCount": 3,
      "deprecatedLastTimestamp": "2030-01-04T00:00:00Z")");
  EXPECT_EQ(old->count(), 3);
  EXPECT_EQ(old->time(), "2030-01-04T00:00:00Z");
}

}  // namespace
}  // namespace caravan::service
