// Which events are about a job, and what is told of each.
#include "service/methods/event_methods.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/config/base64.h"

namespace caravan::service {
namespace {

using ::testing::ElementsAre;

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

kube::Json told(int number, const std::string& about = "train") {
  return kube::JsonObject{
      {"metadata", kube::JsonObject{{"name", fmt::format("e{}", number)}}},
      {"regarding", kube::JsonObject{{"kind", "LlamaTrainingJob"}, {"name", about}}},
      {"eventTime", fmt::format("2030-01-01T00:{:02}:{:02}.000000Z", number / 2 / 60, number / 2 % 60)},
      {"note", std::to_string(number)}};
}

std::vector<std::string> notes_of(const v1alpha1::ListEventsResponse& page) {
  std::vector<std::string> notes;
  for (const auto& event : page.events()) notes.push_back(event.message());
  return notes;
}

// Two of each second, so that some have the same time at the end of a page.
TEST(EventMethods, PagesHaveEachEventOnceTheOldestFirst) {
  LatestEvents events("train");
  for (const int number : {3, 0, 4, 1, 2}) events.take(told(number));
  events.take(told(5, "other"));
  v1alpha1::ListEventsRequest request;
  request.set_parent("namespaces/s/jobs/train");
  request.set_page_size(3);
  const auto first = events.page(request);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(notes_of(*first), ElementsAre("0", "1", "2"));
  events.take(told(6));
  request.set_page_token(first->next_page_token());
  const auto second = events.page(request);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_THAT(notes_of(*second), ElementsAre("3", "4", "6"));
  EXPECT_EQ(second->next_page_token(), "");
}

TEST(EventMethods, OfMoreEventsThanAreHeldTheLatestOnesAreTold) {
  LatestEvents events("train");
  constexpr int kAll = static_cast<int>(LatestEvents::kMost) + 10;
  for (int number = kAll - 1; number >= 0; --number) events.take(told(number));
  v1alpha1::ListEventsRequest request;
  request.set_page_size(2 * kAll);
  const auto all = events.page(request);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->events_size(), static_cast<int>(LatestEvents::kMost));
  EXPECT_EQ(all->events(0).message(), "10");
  request.set_page_size(0);
  EXPECT_EQ(events.page(request)->events_size(), 100);
}

TEST(EventMethods, APagesTokenIsOfThatJobAndNothingElse) {
  LatestEvents events("train");
  for (int number = 0; number < 3; ++number) events.take(told(number));
  v1alpha1::ListEventsRequest request;
  request.set_parent("namespaces/s/jobs/train");
  request.set_page_size(1);
  const std::string token = events.page(request)->next_page_token();
  request.set_parent("namespaces/s/jobs/other");
  for (const std::string& bad : {token, std::string("garbage"), kube::encode_base64("[1]"),
                                 kube::encode_base64(R"(["namespaces/s/jobs/other"])")}) {
    request.set_page_token(bad);
    const auto refused = events.page(request);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_EQ(refused.error().fields.at(0).subject, "page_token");
  }
  request.set_page_token("");
  request.set_page_size(-1);
  EXPECT_FALSE(events.page(request));
}

}  // namespace
}  // namespace caravan::service
