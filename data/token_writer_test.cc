#include "data/token_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "common/testing/temporary_folder.h"
#include "data/token_dataset.h"
#include "data/tokenize_files.h"

namespace {

// What the file system does, in the place of the C library's calls.
struct FileSystem {
  int synced_folders = 0;  // in which a file has its name already
  bool cannot_sync = false;
  bool knows_no_flags = false;
};

FileSystem& file_system() {
  static FileSystem state;
  return state;
}

}  // namespace

extern "C" int fsync(int file) {
  if (::faccessat(file, "durable.bin", F_OK, 0) == 0) {
    ++file_system().synced_folders;
    if (file_system().cannot_sync) {
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int renameat2(int folder, const char* name, int new_folder, const char* new_name,
                         unsigned flags) noexcept {
  if (flags != 0 && file_system().knows_no_flags) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, folder, name, new_folder, new_name, flags));
}

namespace caravan::data {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

size_t entries_of(const test::TemporaryFolder& folder) {
  const std::filesystem::directory_iterator entries(folder.path(""));
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

void write_numbers(TokenWriter& writer, uint32_t count) {
  for (uint32_t id = 0; id < count; ++id) ASSERT_TRUE(writer.add(id));
}

std::vector<int64_t> numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> result(static_cast<size_t>(end - begin));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

std::vector<int64_t> written_tokens(const std::string& path) {
  const auto dataset = TokenDataset::open(path);
  if (!dataset) return {};
  std::vector<int64_t> tokens(static_cast<size_t>(dataset->tokens()));
  EXPECT_TRUE(dataset->read(0, tokens, int64_t{1} << 40));
  return tokens;
}

TEST(TokenWriter, WhatItWritesIsRead) {
  for (const auto& [vocabulary, count] : {std::pair{65'536, 65'536U}, std::pair{65'537, 700'000U}}) {
    const test::TemporaryFolder folder;
    auto writer = TokenWriter::create(folder.path("t.bin"), token_type_for(vocabulary), false);
    ASSERT_TRUE(writer) << writer.error().message;
    write_numbers(*writer, count);
    ASSERT_TRUE(writer->commit());
    EXPECT_EQ(written_tokens(folder.path("t.bin")), numbers(0, count));
    EXPECT_EQ(entries_of(folder), 1);
  }
}

TEST(TokenWriter, TheNarrowestTypeIsTaken) {
  EXPECT_EQ(token_type_for(256), TokenType::kUint16);
  EXPECT_EQ(token_type_for(65'536), TokenType::kUint16);
  EXPECT_EQ(token_type_for(65'537), TokenType::kUint32);
}

TEST(TokenWriter, TheTailMovesToAnotherFile) {
  const test::TemporaryFolder folder;
  auto train = TokenWriter::create(folder.path("train.bin"), TokenType::kUint32, false);
  auto validation = TokenWriter::create(folder.path("val.bin"), TokenType::kUint32, false);
  ASSERT_TRUE(train && validation);
  write_numbers(*train, 1'000'000);
  ASSERT_TRUE(train->move_tail(400'000, *validation));
  ASSERT_TRUE(train->commit());
  ASSERT_TRUE(validation->commit());
  EXPECT_EQ(written_tokens(folder.path("train.bin")), numbers(0, 600'000));
  EXPECT_EQ(written_tokens(folder.path("val.bin")), numbers(600'000, 1'000'000));
}

TEST(TokenWriter, NothingIsLeftOfAFileThatIsNotCommitted) {
  const test::TemporaryFolder folder;
  {
    auto writer = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, false);
    ASSERT_TRUE(writer);
    write_numbers(*writer, 60'000);
    EXPECT_FALSE(std::filesystem::exists(folder.path("t.bin"))) << "visible before it is complete";
  }
  EXPECT_EQ(entries_of(folder), 0);
}

TEST(TokenWriter, AnExistingFileIsReplacedOnlyOnDemand) {
  const test::TemporaryFolder folder;
  folder.write("t.bin", "precious");
  const auto refused = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("t.bin"), HasSubstr("--force")));

  auto writer = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, true);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->add(7));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(written_tokens(folder.path("t.bin")), (std::vector<int64_t>{7}));
}

TEST(TokenWriter, AFileThatHasComeMeanwhileIsReplacedOnlyOnDemand) {
  for (const auto& [replace, knows_no_flags] : {std::pair(false, false), {false, true}, {true, false}}) {
    const test::TemporaryFolder folder;
    file_system() = {.knows_no_flags = knows_no_flags};
    auto writer = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, replace);
    ASSERT_TRUE(writer->add(7));
    folder.write("t.bin", "precious");
    const Status committed = writer->commit();
    ASSERT_EQ(committed.has_value(), replace);
    if (replace) {
      EXPECT_EQ(written_tokens(folder.path("t.bin")), (std::vector<int64_t>{7}));
    } else {
      EXPECT_EQ(committed.error().code, ExitCode::kBadInput);
      EXPECT_THAT(committed.error().message, HasSubstr("t.bin: exists already; give --force"));
      EXPECT_EQ(test::contents(folder.path("t.bin")), "precious");
    }
  }
}

TEST(TokenWriter, AFileGetsItsNameAlsoWhereTheFileSystemKnowsNoFlags) {
  const test::TemporaryFolder folder;
  file_system() = {.knows_no_flags = true};
  auto writer = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, false);
  ASSERT_TRUE(writer->add(7));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(written_tokens(folder.path("t.bin")), (std::vector<int64_t>{7}));
}

TEST(TokenWriter, TheNameIsDurableOrWhoWroteTheFileIsTold) {
  for (const bool fail : {false, true}) {
    const test::TemporaryFolder folder;
    file_system() = {.cannot_sync = fail};
    {
      auto writer = TokenWriter::create(folder.path("durable.bin"), TokenType::kUint16, false);
      ASSERT_TRUE(writer->add(7));
      EXPECT_EQ(writer->commit().has_value(), !fail);
    }
    EXPECT_EQ(file_system().synced_folders, 1);
    EXPECT_EQ(entries_of(folder), 1u) << "the file is whole";
  }
}

// Seven tokens for training and three for validation. meanwhile: called while the text is read.
Status tokenize(const test::TemporaryFolder& folder, const std::string& train, const std::string& validation,
                bool replace, const std::function<void()>& meanwhile) {
  TokenizeRequest request;
  request.texts = {folder.write("text", "0123456789")};
  request.output = folder.path(train);
  request.replace = replace;
  request.validation_output = folder.path(validation);
  request.validation_fraction = 0.3;
  const auto summary =
      tokenize_files(ByteTokenizer(), request, -1, [&](const TokenizeProgress&) { meanwhile(); });
  return summary ? Status() : tl::unexpected(summary.error());
}

TEST(TokenizeFiles, HaveTheirNamesBothWhereOneCannotBeMadeDurable) {
  for (const auto& [train, validation] :
       {std::pair("durable.bin", "val.bin"), {"train.bin", "durable.bin"}}) {
    const test::TemporaryFolder folder;
    file_system() = {.cannot_sync = true};
    const Status told = tokenize(folder, train, validation, false, [] {});
    ASSERT_FALSE(told);
    EXPECT_THAT(told.error().message,
                EndsWith(folder.path(train) + " and " + folder.path(validation) + " have been written"));
    EXPECT_EQ(written_tokens(folder.path(train)).size(), 7U);
    EXPECT_EQ(written_tokens(folder.path(validation)).size(), 3U);
  }
}

TEST(TokenizeFiles, AreNotTakenBackWhereTheyHaveReplacedOthers) {
  for (const bool replace : {false, true}) {
    const test::TemporaryFolder folder;
    file_system() = {};
    if (replace) folder.write("val.bin", "of an earlier run");
    const auto take_the_name = [&] { std::filesystem::create_directory(folder.path("train.bin")); };
    const Status told = tokenize(folder, "train.bin", "val.bin", replace, take_the_name);
    ASSERT_FALSE(told);
    EXPECT_THAT(told.error().message, HasSubstr("train.bin: "));
    EXPECT_EQ(told.error().message.ends_with(folder.path("val.bin") + " has been written"), replace);
    EXPECT_EQ(written_tokens(folder.path("val.bin")).size(), replace ? 3U : 0U);
  }
}

TEST(TokenWriter, APlaceThatCannotBeWrittenIsRefusedByName) {
  const test::TemporaryFolder folder;
  for (const std::string& path : {folder.path("missing/t.bin"), folder.path("")}) {
    const auto writer = TokenWriter::create(path, TokenType::kUint16, false);
    ASSERT_FALSE(writer) << path;
    EXPECT_EQ(writer.error().code, ExitCode::kBadInput);
    EXPECT_THAT(writer.error().message, HasSubstr(path));
  }
}

// Stands in for a full disk: writing past the limit fails in the same place.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(TokenWriter, NothingIsLeftWhenTheDiskIsFull) {
  const test::TemporaryFolder folder;
  const FileSizeLimit limit(100'000);
  {
    auto writer = TokenWriter::create(folder.path("t.bin"), TokenType::kUint16, false);
    ASSERT_TRUE(writer);
    write_numbers(*writer, 60'000);
    const Status committed = writer->commit();
    ASSERT_FALSE(committed);
    EXPECT_THAT(committed.error().message, AllOf(HasSubstr("t.bin"), HasSubstr("make room")));
  }
  EXPECT_EQ(entries_of(folder), 0);
}

}  // namespace
}  // namespace caravan::data
