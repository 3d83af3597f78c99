#include "kube/events/event_series.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

EventNote note_about(const std::string& uid, std::string text = "created pod w-0") {
  return {.regarding = JsonObject{{"apiVersion", "v1"},
                                  {"kind", "Job"},
                                  {"metadata", JsonObject{{"namespace", "s"}, {"name", "j"}, {"uid", uid}}}},
          .reason = "PodCreated",
          .action = "CreatePod",
          .note = std::move(text)};
}

class EventSeriesTest : public ::testing::Test {
 protected:
  EventWrite add(const EventNote& note) { return series_.add(note, now_, Clock::WallTime(1'700'000'000s)); }
  static bool creates(const EventWrite& write) { return std::holds_alternative<CreateEvent>(write); }

  EventSeries series_{{.controller = "caravan.dev/operator", .instance = "operator-0"}};
  Clock::TimePoint now_{1h};
};

TEST_F(EventSeriesTest, TheFirstEventHasNoSeriesAndTheRepeatCountsTwo) {
  const EventWrite first = add(note_about("1"));
  ASSERT_TRUE(creates(first));
  const Json& event = std::get<CreateEvent>(first).event;
  EXPECT_EQ(find(event, {"series"}), nullptr);
  EXPECT_EQ(text_at(event, {"type"}), "Normal");
  EXPECT_EQ(text_at(event, {"regarding", "uid"}), "1");

  const EventWrite second = add(note_about("1"));
  ASSERT_FALSE(creates(second));
  EXPECT_EQ(integer_at(std::get<PatchEvent>(second).patch, {"series", "count"}), 2);
  EXPECT_EQ(std::get<PatchEvent>(second).key, key_of(event));
}

TEST_F(EventSeriesTest, OtherObjectsAndOtherNotesAreOtherEvents) {
  add(note_about("1"));
  EXPECT_TRUE(creates(add(note_about("2"))));
  EXPECT_TRUE(creates(add(note_about("1", "created pod w-1"))));
}

TEST_F(EventSeriesTest, NamesAreUniqueWithinAMoment) {
  const EventWrite one = add(note_about("1"));
  const EventWrite two = add(note_about("2"));
  EXPECT_NE(key_of(std::get<CreateEvent>(one).event), key_of(std::get<CreateEvent>(two).event));
}

TEST_F(EventSeriesTest, ASeriesEndsAfterSixQuietMinutes) {
  add(note_about("1"));
  now_ += 6min;
  EXPECT_FALSE(creates(add(note_about("1"))));
  now_ += 6min + 1s;
  EXPECT_TRUE(creates(add(note_about("1"))));
}

TEST_F(EventSeriesTest, AForgottenEventIsCreatedAnew) {
  add(note_about("1"));
  series_.forget(note_about("1"));
  EXPECT_TRUE(creates(add(note_about("1"))));
}

TEST_F(EventSeriesTest, ALongNoteIsCutBetweenCharacters) {
  const EventWrite write = add(note_about("1", std::string(1023, 'x') + "\xC3\xA9 and more"));
  EXPECT_EQ(text_at(std::get<CreateEvent>(write).event, {"note"}), std::string(1023, 'x'));
}

}  // namespace
}  // namespace caravan::kube
