#include "checkpoint/folder/owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/folder/commit.h"
#include "checkpoint/folder/store.h"
#include "checkpoint/testing/faulty_volume.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::tiny_plan;
using testing::tiny_request;
using testing::write_tiny_rank;

class Folder : public ::testing::Test {
 protected:
  Owner taken_by(const std::string& run, int attempt) {
    auto taken = take_over(*volume_, {.attempt = attempt, .run = run, .job = "tiny"});
    EXPECT_TRUE(taken) << taken.error().message;
    return taken ? taken->own : Owner{};
  }

  const test::TemporaryFolder files_;
  const std::unique_ptr<Volume> volume_ = open_volume(files_.path().string()).value();
};

using Ownership = Folder;

TEST_F(Ownership, IsOfTheAttemptThatBeganLastWhicheverRunItIsOf) {
  const Owner first = taken_by("run-a", 1);
  EXPECT_TRUE(check_owner(*volume_, first));
  const Owner restarted = taken_by("run-a", 2);
  EXPECT_TRUE(check_owner(*volume_, restarted));
  EXPECT_FALSE(check_owner(*volume_, first));

  const auto other = take_over(*volume_, {.attempt = 1, .run = "run-b", .job = "other"});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->before, restarted);
  const Status refused = check_owner(*volume_, restarted);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("attempt 1 of job other (run run-b) has taken this folder"));
  EXPECT_THAT(refused.error().message, HasSubstr("checkpoint.path"));

  const Owner back = taken_by("run-a", 3);
  EXPECT_TRUE(check_owner(*volume_, back)) << "a restart asks nobody";
  EXPECT_FALSE(check_owner(*volume_, other->own));
  EXPECT_THAT(volume_->names("").value(), ElementsAre("owner-000004.3.run-a.tiny"));
}

TEST_F(Ownership, NeverGoesBackToAnEarlierAttemptOfTheSameRun) {
  const Owner later = taken_by("run-a", 2);
  const auto late = take_over(*volume_, {.attempt = 1, .run = "run-a", .job = "tiny"});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("attempt 2 of job tiny"));
  EXPECT_TRUE(check_owner(*volume_, later));
}

TEST_F(Ownership, TwoThatBeginAtOnceDoNotBothHaveTheFolder) {
  files_.write("owner-000003.1.run-a.tiny", "");
  files_.write("owner-000003.1.run-b.tiny", "");
  const Owner a{.number = 3, .attempt = 1, .run = "run-a", .job = "tiny"};
  const Owner b{.number = 3, .attempt = 1, .run = "run-b", .job = "tiny"};
  EXPECT_FALSE(check_owner(*volume_, a));
  EXPECT_TRUE(check_owner(*volume_, b));
}

TEST_F(Ownership, SaysNothingByNamesThatAreNotItsOwn) {
  for (const char* name : {"owner-7.1.run.tiny", "owner-000007", "owner-000007.1", "owner-000007.x.run.tiny",
                           "owner-.1.run.tiny", "owner-00000a.1.run.tiny", "owner-000007.01.run.tiny"})
    EXPECT_FALSE(owner_named(name)) << name;
  const Owner dotted{.number = 1234567, .attempt = 12, .run = "", .job = "team.tiny"};
  EXPECT_EQ(owner_named(owner_file(dotted)), dotted);
}

// The other one takes over after any operation of a save: from then on nothing of it becomes a checkpoint.
TEST_F(Ownership, WhoLostItCommitsNothing) {
  const Owner own = taken_by("run-a", 1);
  SaveRequest request = tiny_request(5);
  request.owner = own;
  ASSERT_TRUE(begin_save(*volume_, tiny_plan(), request.id()));
  for (const int rank : {0, 1}) ASSERT_TRUE(write_tiny_rank(*volume_, request.id(), rank));
  testing::FaultyVolume watched(*volume_);
  watched.before = [&] {
    if (watched.operations().size() == 3) taken_by("run-b", 1);
  };
  const Status committed = commit(watched, tiny_plan(), request, testing::kTinyBlock);
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error().message, HasSubstr("(run run-b) has taken this folder over"));
  EXPECT_GT(watched.operations().size(), 3u);
  EXPECT_THAT(committed_steps(*volume_).value(), ElementsAre());
}

// Of the same attempt and step, at the same time.
TEST_F(Ownership, TwoRunsWriteIntoDifferentFolders) {
  SaveRequest one = tiny_request(5);
  one.owner.run = "run-a";
  SaveRequest other = tiny_request(5);
  other.owner.run = "run-b";
  for (const SaveRequest* request : {&one, &other})
    ASSERT_TRUE(begin_save(*volume_, tiny_plan(), request->id()));
  for (const int rank : {0, 1})
    for (const SaveRequest* request : {&one, &other})
      ASSERT_TRUE(write_tiny_rank(*volume_, request->id(), rank));
  ASSERT_TRUE(commit(*volume_, tiny_plan(), one, testing::kTinyBlock));
  EXPECT_FALSE(commit(*volume_, tiny_plan(), other, testing::kTinyBlock)) << "the step has its checkpoint";
  EXPECT_TRUE(Checkpoint::open(*volume_, 5)->verify());
}

}  // namespace
}  // namespace caravan::checkpoint
