// A save on a disk that is full or broken, call by call.
#include "checkpoint/testing/failing_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/sample.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"

namespace caravan::checkpoint {
namespace {

using ::testing::ElementsAre;
using testing::FailingCalls;
using ::testing::HasSubstr;
using testing::tiny_request;
using testing::write_tiny;

// Whether the call of that number, if the save makes so many, costs that checkpoint and nothing else.
bool save_with_a_call_that_fails(std::size_t number, int error, std::set<std::string>& failed) {
  const test::TemporaryFolder folder;
  FailingCalls calls;
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  EXPECT_TRUE(write_tiny(*volume, 5));
  calls.forget();
  calls.fails_at = number;
  calls.error = error;
  const Status saved = write_tiny(*volume, 10);
  if (calls.count() <= number) return false;
  const std::string name = calls.names()[number];
  SCOPED_TRACE(name);
  failed.insert(name);
  calls.fails_at.reset();
  EXPECT_FALSE(saved);
  if (!saved) {
    EXPECT_THAT(saved.error().message, HasSubstr(std::strerror(error)));
    EXPECT_THAT(saved.error().message, HasSubstr(folder.path().string())) << "it does not say where";
  }
  EXPECT_THAT(committed_steps(*volume).value(), ElementsAre(5));
  EXPECT_TRUE(Checkpoint::open(*volume, 5)->verify());
  EXPECT_TRUE(abandon_save(*volume, tiny_request(10).id()));
  EXPECT_THAT(volume->names("").value(), ElementsAre("step-000005"));
  EXPECT_TRUE(write_tiny(*volume, 10)) << "the next one is not made";
  return true;
}

// With one of the errors each day.
TEST(FailingCalls, EachOfASaveCostsThatCheckpointAlone) {
  CARAVAN_BY_TURNS();
  const test::Sample sample(2);
  std::set<std::string> failed;
  std::size_t number = 0;
  for (bool makes_so_many = true; makes_so_many && !::testing::Test::HasFailure(); ++number) {
    for (const int error : {EIO, ENOSPC}) {
      if (sample.takes(number + (error == EIO)))
        makes_so_many = save_with_a_call_that_fails(number, error, failed);
    }
  }
  EXPECT_GT(number, 100u);
  EXPECT_THAT(failed, ElementsAre("list", "make_folder", "open", "read", "remove", "rename", "resize",
                                  "status", "sync", "write"));
}

// A server whose answer was lost is asked again, and says what it finds then.
class LostAnswers final : public FailingCalls {
 public:
  explicit LostAnswers(int found) : found_(found) {}

  int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) override {
    EXPECT_EQ(SystemCalls::rename(folder, name, new_folder, new_name, flags), 0);
    errno = found_;
    return -1;
  }
  int make_folder(int folder, const char* name) override {
    EXPECT_EQ(SystemCalls::make_folder(folder, name), 0);
    errno = found_;
    return -1;
  }
  int remove(int folder, const char* name, int flags) override {
    EXPECT_EQ(SystemCalls::remove(folder, name, flags), 0);
    errno = ENOENT;
    return -1;
  }

 private:
  const int found_;
};

TEST(LostAnswers, OfWhatHappenedCostNoCheckpoint) {
  for (const int found : {ENOENT, EEXIST, ENOTEMPTY, EIO, ETIMEDOUT}) {
    SCOPED_TRACE(std::strerror(found));
    const test::TemporaryFolder folder;
    LostAnswers calls(found);
    const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
    const Status saved = write_tiny(*volume, 5);
    EXPECT_TRUE(saved) << saved.error().message;
    EXPECT_THAT(committed_steps(*volume).value(), ElementsAre(5));
    auto made = Checkpoint::open(*volume, 5);
    EXPECT_TRUE(made && made->verify());
  }
}

TEST(LostAnswers, OfARenameThatHappenedKeepNoOlderCheckpoint) {
  for (const int found : {ENOENT, EEXIST, EIO}) {
    SCOPED_TRACE(std::strerror(found));
    const test::TemporaryFolder folder;
    LostAnswers calls(found);
    const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
    for (const int step : {5, 10}) ASSERT_TRUE(write_tiny(*volume, step));
    const Status kept = keep_newest(*volume, 1, 10);
    EXPECT_TRUE(kept) << kept.error().message;
    EXPECT_THAT(volume->names("").value(), ElementsAre("step-000010"));
  }
}

TEST(LostAnswers, OfARemovalThatHappenedAreNoTrouble) {
  const test::TemporaryFolder folder;
  folder.write("step-000005.tmp-1/one", "1");
  folder.write("step-000005.tmp-1/two", "2");
  LostAnswers calls(ENOENT);
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  EXPECT_TRUE(remove_unfinished(*volume));
  EXPECT_THAT(volume->names("").value(), ElementsAre());
}

// Another one's checkpoint of the step, which came to be there meanwhile.
TEST(FailingCalls, ARenameThatFindsTheNameTakenIsNone) {
  const test::TemporaryFolder folder;
  const auto volume = open_volume(folder.path().string()).value();
  const SaveRequest late = tiny_request(5, /*attempt=*/1);
  ASSERT_TRUE(begin_save(*volume, testing::tiny_plan(), late.id()));
  for (const int rank : {0, 1}) ASSERT_TRUE(testing::write_tiny_rank(*volume, late.id(), rank));
  ASSERT_TRUE(write_tiny(*volume, 5, /*attempt=*/2));
  EXPECT_FALSE(commit(*volume, testing::tiny_plan(), late, testing::kTinyBlock));
}

// File systems of several machines have no rename that refuses to replace.
TEST(FailingCalls, WithoutAFlagForItNothingIsReplacedEither) {
  class NoFlags final : public FailingCalls {
   public:
    int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) override {
      if (flags == 0) return FailingCalls::rename(folder, name, new_folder, new_name, flags);
      errno = EINVAL;
      return -1;
    }
  };
  const test::TemporaryFolder folder;
  NoFlags calls;
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  ASSERT_TRUE(write_tiny(*volume, 5));
  ASSERT_TRUE(volume->make_folder("empty"));
  EXPECT_THAT(volume->rename("step-000005", "empty").error().message, HasSubstr("File exists"));
  EXPECT_TRUE(Checkpoint::open(*volume, 5)->verify());
}

// As 9p and vboxsf, which say so of folders alone.
TEST(FailingCalls, AFileSystemThatSyncsNoFoldersTakesCheckpoints) {
  class NoSync final : public SystemCalls {
   public:
    int sync(int file) override {
      struct stat status {};
      EXPECT_EQ(SystemCalls::status(file, status), 0);
      if (!S_ISDIR(status.st_mode) && !of_files) return 0;
      errno = EINVAL;
      return -1;
    }
    bool of_files = false;
  };
  const test::TemporaryFolder folder;
  NoSync calls;
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  const Status saved = write_tiny(*volume, 5);
  EXPECT_TRUE(saved) << saved.error().message;
  EXPECT_TRUE(keep_newest(*volume, 1, 5));
  EXPECT_THAT(committed_steps(*volume).value(), ElementsAre(5));
  calls.of_files = true;
  EXPECT_FALSE(write_tiny(*volume, 10)) << "a file that is not durable";
}

// A file that somebody still has open leaves a name behind on NFS until he closes it.
TEST(FailingCalls, WhatCannotBeRemovedKeepsNothingElse) {
  const test::TemporaryFolder folder;
  const auto volume = open_volume(folder.path().string()).value();
  folder.write("step-000005.tmp-1/folder/file", "in the way");
  folder.write("step-000006.tmp-1/file", "");
  EXPECT_FALSE(remove_unfinished(*volume));
  EXPECT_THAT(volume->names("").value(), ElementsAre("step-000005.tmp-1.gone"));
  for (const int step : {7, 8, 9}) ASSERT_TRUE(write_tiny(*volume, step));
  folder.write("step-000008/folder/file", "in the way");
  EXPECT_FALSE(keep_newest(*volume, 1, 9));
  EXPECT_THAT(volume->names("").value(),
              ElementsAre("step-000005.tmp-1.gone", "step-000008.tmp-0", "step-000009"));
  for (const char* left : {"step-000005.tmp-1.gone/folder", "step-000008.tmp-0/folder"})
    std::filesystem::remove_all(folder.path(left));
  EXPECT_TRUE(keep_newest(*volume, 1, 9));
  EXPECT_THAT(volume->names("").value(), ElementsAre("step-000009"));
}

// As when the save is tried again, and what the one before left cannot be removed.
TEST(FailingCalls, AnUnfinishedOneIsRemovedThoughTheNameForThatIsTaken) {
  const test::TemporaryFolder folder;
  const auto volume = open_volume(folder.path().string()).value();
  const SaveId id = tiny_request(5).id();
  const std::string going = going_folder(id.folder());
  folder.write(going + "/folder/file", "in the way");
  ASSERT_TRUE(begin_save(*volume, testing::tiny_plan(), id));
  const Status abandoned = abandon_save(*volume, id);
  ASSERT_FALSE(abandoned);
  EXPECT_THAT(abandoned.error().message, HasSubstr(std::strerror(EEXIST)));
  EXPECT_THAT(volume->names("").value(), ElementsAre(going));
}

// With nothing behind them, so that large files cost no time.
class LargeFile : public FailingCalls {
 public:
  ssize_t write(int, const void*, std::size_t count, off_t) override { return static_cast<ssize_t>(count); }
  int sync_range(int, off_t, off_t, unsigned) override {
    if (const int number = asked_++; fails_.contains(number)) {
      errno = fails_.at(number);
      return -1;
    }
    return 0;
  }
  int forget_range(int, off_t offset, off_t bytes) override {
    forgotten_.emplace_back(offset, offset + bytes);
    errno = EIO;
    return -1;  // advice that nobody takes
  }

  std::map<int, int> fails_;  // errors by number of the call
  int asked_ = 0;
  std::vector<std::pair<off_t, off_t>> forgotten_;
};

// What goes to the disk before it is asked for.
class EarlyWrites : public ::testing::Test {
 protected:
  static constexpr int64_t kPiece = int64_t{4} << 20;
  static constexpr int kPieces = 20;  // more than may be under way
  static constexpr int kUnderWay = 16;

  // How many pieces were taken before an error.
  int write(Status* problem = nullptr) {
    const auto volume = open_volume(folder_.path().string(), Links::Refused, calls_).value();
    const auto file = volume->open_output("large").value();
    const std::vector<std::byte> bytes(kPiece);
    for (int piece = 0; piece < kPieces; ++piece) {
      Status written = file->write(piece * kPiece, bytes);
      if (problem != nullptr) *problem = written;
      if (!written) return piece;
    }
    EXPECT_TRUE(file->sync());
    return kPieces;
  }

  const test::TemporaryFolder folder_;
  LargeFile calls_;
};

TEST_F(EarlyWrites, LeaveTheCacheAsTheDiskTakesThem) {
  EXPECT_EQ(write(), kPieces);
  EXPECT_EQ(calls_.asked_, kPieces + kPieces - kUnderWay);
  ASSERT_EQ(calls_.forgotten_.size(), static_cast<std::size_t>(kPieces));
  for (int piece = 0; piece < kPieces; ++piece)
    EXPECT_EQ(calls_.forgotten_[static_cast<std::size_t>(piece)],
              std::pair(piece * kPiece, (piece + 1) * kPiece));
}

// An error may be told once: sync() would not tell it again.
TEST_F(EarlyWrites, AnErrorOfTheDiskIsToldByTheWriteThatHearsOfIt) {
  for (const int error : {EIO, ENOSPC}) {
    Status problem;
    calls_ = {};
    calls_.fails_ = {{3, error}};
    EXPECT_EQ(write(&problem), 3) << "when it begins";
    EXPECT_THAT(problem.error().message, HasSubstr(std::strerror(error)));
    calls_ = {};
    calls_.fails_ = {{kUnderWay + 1, error}};
    EXPECT_EQ(write(&problem), kUnderWay) << "when it is waited for";
    EXPECT_THAT(problem.error().message, HasSubstr(std::strerror(error)));
  }
}

TEST_F(EarlyWrites, AFileSystemThatDoesNotKnowThemIsAskedOnce) {
  for (const int error : {ENOSYS, EINVAL, EOPNOTSUPP, ESPIPE, EPERM}) {
    calls_ = {};
    calls_.fails_ = {{0, error}};
    EXPECT_EQ(write(), kPieces);
    EXPECT_EQ(calls_.asked_, 1);
    EXPECT_TRUE(calls_.forgotten_.empty());
  }
}

TEST_F(EarlyWrites, ASignalCostsNothing) {
  calls_.fails_ = {{0, EINTR}, {kUnderWay + 2, EINTR}, {kUnderWay + 3, EINTR}};
  EXPECT_EQ(write(), kPieces);
  EXPECT_EQ(calls_.forgotten_.size(), static_cast<std::size_t>(kPieces) - 1)
      << "all but the one of the first";
}

// As with signals, and with quotas that end within a write.
TEST(Volume, AWriteThatTakesAPartGoesOn) {
  class Short final : public FailingCalls {
   public:
    ssize_t write(int file, const void* bytes, std::size_t count, off_t offset) override {
      if (++calls_ % 2 == 0) {
        errno = EINTR;
        return -1;
      }
      return FailingCalls::write(file, bytes, std::min<std::size_t>(count, 3), offset);
    }
    int calls_ = 0;
  };
  const test::TemporaryFolder folder;
  Short calls;
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  ASSERT_TRUE(write_text(*volume, "file", "some words"));
  EXPECT_EQ(test::contents(folder.path("file")), "some words");
  EXPECT_EQ(calls.calls_, 7);
}

}  // namespace
}  // namespace caravan::checkpoint
