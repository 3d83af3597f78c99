// A save on a disk that is full or broken, call by call.
#include "checkpoint/testing/failing_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/folder/store.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"

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

TEST(FailingCalls, EachOfASaveCostsThatCheckpointAlone) {
  for (const int error : {EIO, ENOSPC}) {
    std::set<std::string> failed;
    std::size_t number = 0;
    while (save_with_a_call_that_fails(number, error, failed) && !::testing::Test::HasFailure()) ++number;
    EXPECT_GT(number, 100u);
    EXPECT_THAT(failed, ElementsAre("list", "make_folder", "open", "read", "remove", "rename", "status",
                                    "sync", "write"));
  }
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
