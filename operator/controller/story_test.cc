#include "operator/controller/story.h"

#include <gtest/gtest.h>

#include "operator/controller/progress_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

TEST(Story, SavesThatFailAndSucceedByTurnsAreOneEvent) {
  v1alpha1::JobStatus status;
  const auto events = [&](bool fails, TimePoint now) {
    JobProgress progress{.attempt = 1, .checkpoints = {{500, kStart}}};
    if (fails) progress.failed_save.emplace().set_step(1000);
    const v1alpha1::JobStatus before = status;
    follow_saves(progress, 1, now, status);
    return story_of(before, status).size();
  };
  EXPECT_EQ(events(true, kStart), 1U);
  EXPECT_EQ(events(false, kStart + 10s), 0U);
  EXPECT_EQ(events(true, kStart + 20s), 0U);
  EXPECT_EQ(events(false, kStart + 10min), 0U);
  EXPECT_EQ(events(true, kStart + 20min), 1U);
}

}  // namespace
}  // namespace caravan::controller::testing
