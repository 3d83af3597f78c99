#include "operator/service/progress_board.h"

#include <gtest/gtest.h>

#include <utility>

#include "operator/api/names.h"
#include "operator/testing/settable_clock.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

v1alpha1::JobReport event_of(int attempt, const char* reason) {
  v1alpha1::JobReport report;
  report.mutable_event()->set_attempt(attempt);
  report.mutable_event()->set_reason(reason);
  return report;
}

TEST(ProgressBoard, KnowsHowLongAgoItWasToldAlsoWhereTheWallClockIsSet) {
  using Times = std::pair<Clock::Duration, Clock::Duration>;
  SettableClock clock;
  StepHistory history;
  ProgressBoard board(
      clock, history, [&](const Reporter&) { return JobFacts{.steps = 100, .created_at = clock.wall_now()}; },
      [](const kube::ObjectKey&, std::chrono::milliseconds) {});
  const auto tell = [&](const v1alpha1::JobReport& report) {
    std::string why;
    EXPECT_EQ(board.take({.job = {"team", "train"}, .job_uid = "1"}, report, why),
              ProgressBoard::Answer::kTaken)
        << why;
  };
  const auto told_ago = [&] {
    const JobProgress progress = board.look_at("1").value();
    return Times(clock.wall_now() - progress.event_at.value(), clock.wall_now() - progress.absence->at);
  };
  tell(event_of(1, reasons::kRankFailed));
  clock.hand().advance(10s);
  clock.set(clock.wall_now() - 1h);
  tell(event_of(2, reasons::kNodeAbsent));
  clock.hand().advance(20s);
  EXPECT_EQ(told_ago(), Times(30s, 20s));
  clock.set(clock.wall_now() + 3h);
  EXPECT_EQ(told_ago(), Times(30s, 20s));
}

}  // namespace
}  // namespace caravan::controller::testing
