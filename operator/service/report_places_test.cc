#include "operator/service/report_places.h"

#include <gtest/gtest.h>

#include <array>

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

constexpr Clock::TimePoint kStart{1h};

class Places : public ::testing::Test {
 protected:
  static constexpr ReportPlaces::Limits kLimits{
      .places = 3, .shortest_turn = 1s, .reports_per_second = 10, .burst = 2};

  // Streams are told apart by their addresses only.
  ReportPlaces::Stream stream(std::size_t index) {
    return {std::shared_ptr<void>(), reinterpret_cast<PodReportStream*>(&streams_[index])};
  }
  ReportPlaces::Admission admit(const std::string& name_space, const std::string& pod, std::size_t index,
                                Clock::TimePoint now) {
    return places_.admit(name_space, pod, stream(index), now);
  }

  std::array<char, 16> streams_{};
  ReportPlaces places_{kLimits};
};

TEST_F(Places, APodHasOneItsNewest) {
  EXPECT_TRUE(admit("a", "pod", 0, kStart).admitted);
  const auto second = admit("a", "pod", 1, kStart);
  EXPECT_TRUE(second.admitted);
  EXPECT_EQ(second.former, stream(0));
  places_.leave("pod", *stream(0), kStart);
  EXPECT_EQ(admit("a", "pod", 2, kStart).former, stream(1)) << "who has lost it gives nothing back";
}

TEST_F(Places, OfTheNamespaceWithMostTheOneThatCameFirstMakesRoom) {
  admit("quiet", "quiet-1", 0, kStart);
  admit("loud", "loud-1", 1, kStart + 1s);
  admit("loud", "loud-2", 2, kStart + 2s);
  const auto third = admit("loud", "loud-3", 3, kStart + 5s);
  EXPECT_EQ(third.crowded_out, stream(1));
  EXPECT_EQ(third.former, nullptr);
  EXPECT_EQ(admit("other", "other-1", 4, kStart + 6s).crowded_out, stream(2));
}

TEST_F(Places, WhoHasOnlyJustBegunIsLeftAlone) {
  for (std::size_t i = 0; i < 3; ++i) admit("a", "pod-" + std::to_string(i), i, kStart);
  EXPECT_FALSE(admit("a", "late", 3, kStart + 999ms).admitted);
  const auto in_time = admit("a", "late", 3, kStart + 1s);
  EXPECT_TRUE(in_time.admitted);
  EXPECT_EQ(in_time.crowded_out, stream(0));
}

// However often those of a namespace come anew.
TEST_F(Places, ANamespaceWithFewerTakesOneAtOnce) {
  for (std::size_t i = 0; i < 3; ++i) admit("a", "pod-" + std::to_string(i), i, kStart);
  const auto first = admit("b", "late", 3, kStart);
  EXPECT_TRUE(first.admitted);
  EXPECT_EQ(first.crowded_out, stream(0));
  EXPECT_FALSE(admit("b", "later", 4, kStart).admitted) << "two and one is as even as it gets";
}

TEST_F(Places, WhoLeavesMakesRoom) {
  for (std::size_t i = 0; i < 3; ++i) admit("a", "pod-" + std::to_string(i), i, kStart);
  places_.leave("pod-1", *stream(1), kStart);
  const auto late = admit("b", "late", 3, kStart);
  EXPECT_TRUE(late.admitted);
  EXPECT_EQ(late.crowded_out, nullptr);
}

TEST_F(Places, ThePaceIsThePodsHoweverOftenItComes) {
  for (std::size_t i = 0; i < 2; ++i) {
    admit("a", "pod", i, kStart);
    EXPECT_EQ(places_.reserve("pod", kStart), 0s);
    places_.leave("pod", *stream(i), kStart);
  }
  admit("a", "pod", 2, kStart);
  EXPECT_EQ(places_.reserve("pod", kStart), 100ms);
  places_.leave("pod", *stream(2), kStart);
  admit("a", "pod", 3, kStart + 1min);
  EXPECT_EQ(places_.reserve("pod", kStart + 1min), 0s) << "rested";
}

}  // namespace
}  // namespace caravan::controller
