#include "checkpoint/folder/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "checkpoint/format/names.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"

namespace caravan::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::holds_tiny_values;
using testing::write_tiny;

// Counts the bytes that are read, and the files that are open.
class MeasuredVolume final : public Volume {
 public:
  explicit MeasuredVolume(const Volume& real) : real_(real) {}

  mutable int64_t bytes_read = 0;
  mutable int open_files = 0;
  mutable int most_open_files = 0;

  std::string shown(const std::string& path) const override { return real_.shown(path); }
  Result<std::vector<std::string>> names(const std::string& folder) const override {
    return real_.names(folder);
  }
  Result<std::unique_ptr<InputFile>> open_input(const std::string& path) const override {
    return real_.open_input(path).map([&](std::unique_ptr<InputFile> file) -> std::unique_ptr<InputFile> {
      return std::make_unique<File>(std::move(file), *this);
    });
  }
  Result<std::unique_ptr<OutputFile>> open_output(const std::string&) override { return failure(""); }
  Status make_folder(const std::string&) override { return failure(""); }
  Status sync_folder(const std::string&) override { return failure(""); }
  Status rename(const std::string&, const std::string&) override { return failure(""); }
  Status remove_file(const std::string&) override { return failure(""); }
  Status remove_empty_folder(const std::string&) override { return failure(""); }

 private:
  class File final : public InputFile {
   public:
    File(std::unique_ptr<InputFile> real, const MeasuredVolume& measured)
        : real_(std::move(real)), measured_(measured) {
      measured_.most_open_files = std::max(measured_.most_open_files, ++measured_.open_files);
    }
    ~File() override { --measured_.open_files; }
    int64_t size() const override { return real_->size(); }
    Status read(int64_t offset, std::span<std::byte> bytes) const override {
      measured_.bytes_read += std::ssize(bytes);
      return real_->read(offset, bytes);
    }
    void forget(int64_t offset, int64_t bytes) const override { real_->forget(offset, bytes); }

   private:
    std::unique_ptr<InputFile> real_;
    const MeasuredVolume& measured_;
  };

  const Volume& real_;
};

class CheckpointOnDisk : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_tiny(*volume_, 5)); }

  fs::path path(const std::string& file) const { return folder_.path() / step_folder(5) / file; }

  std::vector<std::string> files() const { return volume_->names(step_folder(5)).value(); }

  // What a start would say of it; empty: nothing is wrong.
  std::string complaint() const {
    auto found = Checkpoint::open(*volume_, 5);
    if (!found) return found.error().message;
    const Status verified = found->verify();
    if (!verified) return verified.error().message;
    return holds_tiny_values(*found) ? "" : "WRONG VALUES AND NOBODY NOTICED";
  }

  const test::TemporaryFolder folder_;
  const std::unique_ptr<Volume> volume_ = open_volume(folder_.path().string()).value();
};

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(CheckpointOnDisk, ReadsWhatIsAskedForAndNoMore) {
  const MeasuredVolume measured(*volume_);
  auto found = Checkpoint::open(measured, 5).value();
  const int64_t before = measured.bytes_read;
  float value = 0;
  const std::size_t tensor = found.plan().tensor("model.layers.1.mlp.down_proj.weight");
  ASSERT_TRUE(found.read(StateKind::FirstMoment, tensor, 17, std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(value, testing::tiny_value(5, StateKind::FirstMoment, tensor, 17));
  EXPECT_LE(measured.bytes_read - before, testing::kTinyBlock);
  // In order, each block once.
  std::vector<float> values(8 * 12);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(found.read(StateKind::FirstMoment, tensor, static_cast<int64_t>(i),
                           std::as_writable_bytes(std::span(&values[i], 1))));
  EXPECT_LE(measured.bytes_read - before, 3 * testing::kTinyBlock);
}

// A large model has more of them than a process may have open.
TEST_F(CheckpointOnDisk, OneThatIsVerifiedKeepsNoFilesOpen) {
  const MeasuredVolume measured(*volume_);
  auto found = Checkpoint::open(measured, 5).value();
  ASSERT_TRUE(found.verify());
  EXPECT_LE(measured.most_open_files, 2) << "what is read, and config.json";
  EXPECT_EQ(measured.open_files, 0);
}

// A page of memory in which a bit is another one, from that read on, until it is forgotten.
class BadPage final : public SystemCalls {
 public:
  explicit BadPage(int read) : begins_at_(read) {}

  ssize_t read(int file, void* bytes, std::size_t count, off_t offset) override {
    const ssize_t length = SystemCalls::read(file, bytes, count, offset);
    const bool is_bad = reads_++ >= begins_at_ && !is_forgotten_;
    if (is_bad && length > 0) static_cast<char*>(bytes)[length / 2] ^= 1;
    return length;
  }
  int forget_range(int file, off_t offset, off_t bytes) override {
    is_forgotten_ = true;
    return SystemCalls::forget_range(file, offset, bytes);
  }
  bool was_read() const { return reads_ > begins_at_; }

 private:
  const int begins_at_;
  int reads_ = 0;
  bool is_forgotten_ = false;
};

TEST_F(CheckpointOnDisk, WhatMemoryChangesIsReadOnceMore) {
  int number = 0;
  for (bool was_read = true; was_read && !HasFailure(); ++number) {
    BadPage calls(number);
    const auto volume = open_volume(folder_.path().string(), Links::Refused, calls).value();
    auto found = Checkpoint::open(*volume, 5);
    const Status verified = found ? found->verify() : tl::unexpected(found.error());
    EXPECT_TRUE(verified) << "read " << number << ": " << verified.error().message;
    was_read = calls.was_read();
  }
  EXPECT_GT(number, 20);
}

TEST_F(CheckpointOnDisk, EveryFlippedBitIsFound) {
  CARAVAN_BY_TURNS();
  std::mt19937 random(11);
  for (const std::string& file : files()) {
    const std::string bytes = test::contents(path(file));
    for (int i = 0; i < 60; ++i) {
      std::string damaged = bytes;
      const std::size_t at = random() % bytes.size();
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      write_bytes(path(file), damaged);
      const std::string said = complaint();
      EXPECT_NE(said, "") << file << " at byte " << at;
      EXPECT_THAT(said, HasSubstr(file)) << "byte " << at;
    }
    write_bytes(path(file), bytes);
  }
  EXPECT_EQ(complaint(), "");
}

TEST_F(CheckpointOnDisk, FilesThatAreCutLongerMissingOrSwappedAreFound) {
  const std::string first = "first-moment-00001-of-00002.safetensors";
  const std::string second = "second-moment-00001-of-00002.safetensors";
  ASSERT_TRUE(fs::exists(path(first)));
  for (const std::string& file : files()) {
    const std::string bytes = test::contents(path(file));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      write_bytes(path(file), bytes.substr(0, size));
      EXPECT_THAT(complaint(), HasSubstr(file)) << size;
    }
    write_bytes(path(file), bytes + "x");
    EXPECT_NE(complaint(), "") << file;
    fs::remove(path(file));
    EXPECT_THAT(complaint(), HasSubstr(file + ": cannot open"));
    fs::create_symlink("/dev/zero", path(file));
    EXPECT_THAT(complaint(), HasSubstr(file + ": cannot open"));
    fs::remove(path(file));
    write_bytes(path(file), bytes);
  }
  fs::rename(path(first), path("kept"));
  fs::rename(path(second), path(first));
  fs::rename(path("kept"), path(second));
  EXPECT_THAT(complaint(), HasSubstr("are not those that were written"));
}

TEST_F(CheckpointOnDisk, OneUnderAnotherStepsNameIsRefused) {
  fs::rename(folder_.path() / step_folder(5), folder_.path() / step_folder(6));
  const auto found = Checkpoint::open(*volume_, 6);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("is of step 5, the folder's name says another"));
}

}  // namespace
}  // namespace caravan::checkpoint
