#include "operator/controller/story.h"

#include <gmock/gmock.h>

#include "operator/controller/machine_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(Story, OfAMachineThatKueueMayHaveChosenItSaysHowToGetAnother) {
  v1alpha1::JobStatus before;
  v1alpha1::JobStatus after;
  for (const int attempt : {1, 2}) note_failure("bad", attempt, after);
  ASSERT_EQ(story_of(before, after).size(), 1U);
  EXPECT_THAT(story_of(before, after)[0].text, Not(HasSubstr("Kueue")));
  after.mutable_gang()->set_admitted(true);
  EXPECT_THAT(story_of(before, after)[0].text,
              HasSubstr("stay where Kueue's topology names the node itself: cordon it then"));
}

}  // namespace
}  // namespace caravan::controller::testing
