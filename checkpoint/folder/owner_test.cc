#include "checkpoint/folder/owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

#include "checkpoint/folder/commit.h"
#include "checkpoint/folder/store.h"
#include "checkpoint/testing/faulty_volume.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
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
  EXPECT_THAT(late.error().message,
              HasSubstr("attempt 2 of this job was here already; a later attempt follows by itself"));
  EXPECT_TRUE(check_owner(*volume_, later));
  EXPECT_THAT(volume_->names("").value(), ElementsAre(owner_file(later)));
}

TEST_F(Ownership, ThatALaterAttemptOfTheSameRunHasIsNoReasonToSeparateRuns) {
  const Owner first = taken_by("run-a", 1);
  taken_by("run-a", 2);
  const Status lost = check_owner(*volume_, first);
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("attempt 2 of this job has taken this folder over"));
  EXPECT_THAT(lost.error().message, Not(HasSubstr("two runs")));
}

TEST_F(Ownership, WithTheSameNumberIsOfTheLaterAttempt) {
  files_.write("owner-000003.9.run-a.tiny", "");
  files_.write("owner-000003.10.run-a.tiny", "");
  EXPECT_FALSE(check_owner(*volume_, {.number = 3, .attempt = 9, .run = "run-a", .job = "tiny"}));
  EXPECT_TRUE(check_owner(*volume_, {.number = 3, .attempt = 10, .run = "run-a", .job = "tiny"}));
  const Owner next = taken_by("run-a", 11);
  EXPECT_EQ(next.number, 4);
  EXPECT_THAT(volume_->names("").value(), ElementsAre("owner-000004.11.run-a.tiny"));
}

// The other one takes over between the look and the record of this one.
TEST_F(Ownership, OfTwoThatBeginAtOnceOneHasTheFolder) {
  for (const bool has_record : {false, true}) {
    for (const std::string run : {"run-a", "run-z"}) {
      SCOPED_TRACE(fmt::format("{}, {}", run, has_record ? "a record" : "no record"));
      const auto before = volume_->names("").value();
      for (const std::string& name : before) ASSERT_TRUE(volume_->remove_file(name));
      if (has_record) taken_by("run-0", 1);
      testing::FaultyVolume watched(*volume_);
      std::optional<Owner> other;
      watched.before = [&] {
        if (!other) other = taken_by("run-m", 1);
      };
      const auto taken = take_over(watched, {.attempt = 1, .run = run, .job = "tiny"});
      ASSERT_TRUE(taken) << taken.error().message;
      ASSERT_TRUE(other);
      EXPECT_TRUE(check_owner(*volume_, taken->own));
      EXPECT_FALSE(check_owner(*volume_, *other));
      EXPECT_THAT(volume_->names("").value(), ElementsAre(owner_file(taken->own)));
    }
  }
}

TEST_F(Ownership, IsLeftToALaterAttemptThatBeginsMeanwhile) {
  testing::FaultyVolume watched(*volume_);
  std::optional<Owner> later;
  watched.before = [&] {
    if (!later) later = taken_by("run-a", 10);
  };
  const auto taken = take_over(watched, {.attempt = 9, .run = "run-a", .job = "tiny"});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("attempt 10 of this job was here already"));
  EXPECT_TRUE(check_owner(*volume_, *later));
  EXPECT_THAT(volume_->names("").value(), ElementsAre(owner_file(*later)));
}

TEST_F(Ownership, IsNotFoughtForWithoutEnd) {
  taken_by("run-0", 1);
  testing::FaultyVolume watched(*volume_);
  watched.before = [&] { taken_by("run-m", 1); };
  const auto taken = take_over(watched, {.attempt = 1, .run = "run-a", .job = "tiny"});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("others have taken this folder over in the same moment"));
}

class FullDisk final : public SystemCalls {
 public:
  int open(int folder, const char* path, const open_how& how) override {
    if ((how.flags & O_CREAT) == 0) return SystemCalls::open(folder, path, how);
    errno = ENOSPC;
    return -1;
  }
};

// What makes room there is what the one that takes over removes.
TEST_F(Ownership, IsTakenOverAlsoOnADiskThatIsFull) {
  const Owner crashed = taken_by("run-a", 1);
  FullDisk calls;
  const auto full = open_volume(files_.path().string(), Links::Refused, calls).value();
  const auto taken = take_over(*full, {.attempt = 2, .run = "run-a", .job = "tiny"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->before, crashed);
  EXPECT_FALSE(check_owner(*volume_, crashed));
}

// A server that did it and whose answer was lost is asked again, and finds nothing to rename (NFS).
class LostAnswer final : public SystemCalls {
 public:
  int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) override {
    EXPECT_EQ(SystemCalls::rename(folder, name, new_folder, new_name, flags), 0);
    errno = ENOENT;
    return -1;
  }
};

TEST_F(Ownership, IsBelievedByItsRecordAndNotByTheAnswer) {
  taken_by("run-a", 1);
  LostAnswer calls;
  const auto volume = open_volume(files_.path().string(), Links::Refused, calls).value();
  const auto taken = take_over(*volume, {.attempt = 2, .run = "run-a", .job = "tiny"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->own.number, 2);
}

TEST_F(Ownership, CountsFurtherThanAnybodyBegins) {
  files_.write("owner-2147483647.1.run-b.tiny", "");
  EXPECT_EQ(taken_by("run-a", 1).number, int64_t{2147483648});
  files_.write("owner-9223372036854775807.1.run-b.tiny", "");
  const auto none = take_over(*volume_, {.attempt = 2, .run = "run-a", .job = "tiny"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("owner-9223372036854775807.1.run-b.tiny: no number is higher"));
  EXPECT_THAT(none.error().message, HasSubstr("remove it"));
}

TEST_F(Ownership, TwoRecordsWithOneNumberHaveOneOwner) {
  files_.write("owner-000003.1.run-a.tiny", "");
  files_.write("owner-000003.1.run-b.tiny", "");
  const Owner a{.number = 3, .attempt = 1, .run = "run-a", .job = "tiny"};
  const Owner b{.number = 3, .attempt = 1, .run = "run-b", .job = "tiny"};
  EXPECT_FALSE(check_owner(*volume_, a));
  EXPECT_TRUE(check_owner(*volume_, b));
}

TEST_F(Ownership, SaysNothingByNamesThatAreNotItsOwn) {
  for (const char* name :
       {"owner-7.1.run.tiny", "owner-000007", "owner-000007.1", "owner-000007.x.run.tiny",
        "owner-.1.run.tiny", "owner-00000a.1.run.tiny", "owner-000007.01.run.tiny", "owner-000000.1.run.tiny",
        "owner--00007.1.run.tiny", "owner-000007.-1.run.tiny", "owner-000007.0.run.tiny",
        "owner-9223372036854775808.1.run.tiny", "owner-000007.1.run.\x1B[2Jtiny", "owner-000007.1.run.a\nb"})
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
