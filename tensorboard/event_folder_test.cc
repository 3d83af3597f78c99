#include "tensorboard/event_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "checkpoint/testing/failing_calls.h"
#include "common/testing/temporary_folder.h"

namespace caravan::tensorboard {
namespace {

namespace fs = std::filesystem;
using checkpoint::testing::FailingCalls;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNow = 1'800'000'000;

StepScalars step(int number, double later = 0) {
  return {.step = number, .wall_seconds = kNow + later, .scalars = {{"loss/training", 1.0 / number}}};
}

// What a file has to hold that begins with these steps.
std::string events_of(const std::vector<StepScalars>& steps) {
  const StepScalars& first = steps.front();
  std::string bytes = opening_record(first.wall_seconds) + restart_record(first.wall_seconds, first.step);
  for (const StepScalars& one : steps) bytes += scalars_record(one);
  return bytes;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(EventFolder, EachAttemptHasAFileThatBeginsWithItsFirstStep) {
  const test::TemporaryFolder folder;
  EventFolder events({.path = folder.path("runs/mine")}, "uid-1");
  for (const int number : {1, 2, 3}) ASSERT_TRUE(events.add(1, step(number)));
  for (const int number : {3, 4}) ASSERT_TRUE(events.add(2, step(number)));
  EXPECT_THAT(files_in(folder.path("runs/mine")),
              ElementsAre("events.out.tfevents.1800000000.attempt-1.uid-1",
                          "events.out.tfevents.1800000001.attempt-2.uid-1"));
  EXPECT_EQ(test::contents(folder.path("runs/mine/events.out.tfevents.1800000000.attempt-1.uid-1")),
            events_of({step(1), step(2), step(3)}));
  EXPECT_EQ(test::contents(folder.path("runs/mine/events.out.tfevents.1800000001.attempt-2.uid-1")),
            events_of({step(3), step(4)}));
}

TEST(EventFolder, ALaterFileHasALaterNameWhateverTheClockSays) {
  struct Case {
    std::vector<std::string> names;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {{}, "events.out.tfevents.1800000000.attempt-1.run"},
      {{"events.out.tfevents.1700000000.attempt-7.other"}, "events.out.tfevents.1800000000.attempt-1.run"},
      {{"events.out.tfevents.1900000000.attempt-7.other"}, "events.out.tfevents.1900000001.attempt-1.run"},
      {{"events.out.tfevents.1900000000.host.17.0"}, "events.out.tfevents.1900000001.attempt-1.run"},
      {{"notes", "step-000500", "events.out.tfevents.2", "events.out.tfevents.190000000x.host"},
       "events.out.tfevents.1800000000.attempt-1.run"},
      {{"events.out.tfevents.-999999999.host"}, "events.out.tfevents.1800000000.attempt-1.run"},
      {{"events.out.tfevents.9999999999.host"}, "events.out.tfevents.9999999999.attempt-1.run"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.names.empty() ? "an empty folder" : one.names.front());
    EXPECT_EQ(next_event_file(one.names, kNow, 1, "run"), one.expected);
  }
}

TEST(EventFolder, StandsBesideWhatIsInTheFolderAbove) {
  const test::TemporaryFolder folder;
  folder.write("step-000500/manifest.json", "{}");
  for (const char* run : {"uid-1", "uid-2"}) {
    EventFolder events({.path = folder.path().string(), .folder = "tensorboard"}, run);
    ASSERT_TRUE(events.add(1, step(1)));
  }
  EXPECT_THAT(files_in(folder.path()), ElementsAre("step-000500", "tensorboard"));
  EXPECT_EQ(files_in(folder.path("tensorboard")).size(), 2u);
}

// Whoever owns the volume may have put them there.
TEST(EventFolder, FollowsNoLinkBeneathTheFolder) {
  const test::TemporaryFolder folder;
  folder.write("elsewhere/file", "theirs");
  fs::create_directories(folder.path("checkpoints"));
  fs::create_directory_symlink("../elsewhere", folder.path("checkpoints/tensorboard"));
  EventFolder above({.path = folder.path("checkpoints"), .folder = "tensorboard"}, "uid-1");
  const Status written = above.add(1, step(1));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("checkpoints/tensorboard: cannot open"));
  EXPECT_THAT(files_in(folder.path("elsewhere")), ElementsAre("file"));
}

TEST(EventFolder, WritesIntoNoFileThatIsALinkOrAPipe) {
  const test::TemporaryFolder folder;
  folder.write("theirs", "theirs");
  fs::create_directories(folder.path("runs"));
  const std::string last = folder.path("runs/events.out.tfevents.9999999999.attempt-1.uid-1");
  EventFolder events({.path = folder.path("runs")}, "uid-1");

  fs::create_symlink("../theirs", last);
  EXPECT_FALSE(events.add(1, step(1)));
  EXPECT_EQ(test::contents(folder.path("theirs")), "theirs");

  fs::remove(last);
  ASSERT_EQ(::mkfifo(last.c_str(), 0600), 0);
  EXPECT_FALSE(events.add(1, step(1)));
}

TEST(EventFolder, AnyCallThatFailsCostsThatStepAndLeavesAWholeFile) {
  for (std::size_t number = 0;; ++number) {
    const test::TemporaryFolder folder;
    FailingCalls calls;
    EventFolder events({.path = folder.path().string(), .folder = "tensorboard"}, "uid-1",
                       [&](const std::string& path) {
                         return checkpoint::open_volume(path, checkpoint::Links::Refused, calls);
                       });
    calls.fails_at = number;
    calls.error = ENOSPC;
    const std::vector<StepScalars> steps = {step(1), step(2), step(3, 60), step(4, 61)};
    std::vector<StepScalars> written;
    int failed = 0;
    for (const StepScalars& one : steps) {
      const std::size_t before = calls.count();
      const Status added = events.add(1, one);
      if (!added) {
        ++failed;
        EXPECT_THAT(added.error().message, HasSubstr("No space left on device"));
      }
      std::vector<std::string> made(calls.names().begin() + before, calls.names().end());
      if (!added) made.pop_back();  // the call that failed
      if (std::count(made.begin(), made.end(), "write") > 0) written.push_back(one);
    }
    if (calls.count() <= number) break;
    SCOPED_TRACE(calls.names()[number]);
    EXPECT_EQ(failed, 1);
    const std::vector<std::string> files = files_in(folder.path("tensorboard"));
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(test::contents(folder.path("tensorboard/" + files.front())), events_of(written));
    ASSERT_LT(number, 100u);
  }
}

// As by a server that came back.
TEST(EventFolder, AFileThatWentStaleIsGoneOnWithByItsNameWhereItIsWhole) {
  for (const bool is_whole : {true, false}) {
    SCOPED_TRACE(is_whole ? "whole" : "of an older state");
    const test::TemporaryFolder folder;
    fs::create_directories(folder.path("runs"));
    const std::string file = folder.path("runs/events.out.tfevents.1800000000.attempt-1.uid-1");
    FailingCalls calls;
    EventFolder events({.path = folder.path("runs")}, "uid-1", [&](const std::string& path) {
      return checkpoint::open_volume(path, checkpoint::Links::Refused, calls);
    });
    ASSERT_TRUE(events.add(1, step(1)));
    fs::copy_file(file, folder.path("restored"));
    if (!is_whole) fs::resize_file(folder.path("restored"), 10);
    fs::rename(folder.path("restored"), file);

    calls.fails_at = calls.count();
    calls.error = ESTALE;
    EXPECT_FALSE(events.add(1, step(2)));
    ASSERT_TRUE(events.add(1, step(3)));
    if (is_whole) {
      EXPECT_EQ(test::contents(file), events_of({step(1), step(3)}));
    } else {
      EXPECT_EQ(test::contents(folder.path("runs/events.out.tfevents.1800000001.attempt-1.uid-1")),
                events_of({step(3)}));
    }
    EXPECT_EQ(files_in(folder.path("runs")).size(), is_whole ? 1u : 2u);
  }
}

TEST(EventFolder, WhereSomebodyRemovesTheFolderTheCurveGoesOnInANewOne) {
  const test::TemporaryFolder folder;
  EventFolder events({.path = folder.path("runs")}, "uid-1");
  ASSERT_TRUE(events.add(1, step(1)));
  fs::remove_all(folder.path("runs"));
  const Status lost = events.add(1, step(2, 60));
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("attempt-1.uid-1: cannot open: No such file or directory"));
  ASSERT_TRUE(events.add(1, step(3, 61)));
  EXPECT_EQ(test::contents(folder.path("runs/events.out.tfevents.1800000061.attempt-1.uid-1")),
            events_of({step(3, 61)}));
}

}  // namespace
}  // namespace caravan::tensorboard
