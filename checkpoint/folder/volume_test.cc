#include "checkpoint/folder/volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "checkpoint/testing/failing_calls.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Volume, NoPathLeavesTheFolder) {
  const test::TemporaryFolder folder;
  folder.write("secret", "outside");
  folder.write("all/inside/file", "inside");
  const std::string root = folder.path("all");
  std::filesystem::create_symlink("../secret", root + "/link");
  std::filesystem::create_symlink("/etc/passwd", root + "/absolute");
  std::filesystem::create_directory_symlink("inside", root + "/folder-link");
  const auto volume = open_volume(root).value();
  EXPECT_EQ(read_text(*volume, "inside/file", 100).value(), "inside");
  for (const char* path : {"../secret", "/etc/passwd", "link", "absolute", "folder-link/file",
                           "inside/../../secret", "/proc/self/environ", "inside/file/"}) {
    const auto read = read_text(*volume, path, 100);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, ExitCode::kBadInput) << path;
    EXPECT_FALSE(volume->open_output(path)) << path;
  }
  EXPECT_FALSE(volume->make_folder("../new"));
  EXPECT_FALSE(volume->remove_file("../secret"));
  EXPECT_FALSE(volume->remove_folder("folder-link"));
  EXPECT_FALSE(volume->rename("inside/file", "../stolen"));
  EXPECT_FALSE(volume->rename("inside", ".."));
  EXPECT_EQ(test::contents(folder.path("secret")), "outside");
}

TEST(Volume, ReadsRegularFilesOnlyAndAtMostSoManyBytes) {
  const test::TemporaryFolder folder;
  folder.write("file", "12345");
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const auto volume = open_volume(folder.path().string()).value();
  EXPECT_THAT(volume->open_input("pipe").error().message, HasSubstr("pipe: not a regular file"));
  EXPECT_THAT(read_text(*volume, "file", 4).error().message,
              HasSubstr("has 5 bytes, there may be 4 at most"));
  EXPECT_THAT(read_text(*volume, "missing", 4).error().message, HasSubstr("missing: cannot open"));
  std::byte bytes[3];
  EXPECT_THAT(volume->open_input("file").value()->read(4, bytes).error().message,
              HasSubstr("ends at byte 5"));
}

TEST(Volume, WhatIsWrongWithALinkIsSaidWhereItIsWrong) {
  const test::TemporaryFolder folder;
  folder.write("file", "1");
  std::filesystem::create_symlink("file", folder.path("link"));
  std::filesystem::create_symlink("loop", folder.path("loop"));
  const auto refused = open_volume(folder.path().string()).value();
  EXPECT_THAT(refused->open_input("link").error().message, HasSubstr("(links are not followed)"));
  const auto followed = open_volume(folder.path().string(), Links::Followed).value();
  EXPECT_TRUE(followed->open_input("link"));
  const std::string loop = followed->open_input("loop").error().message;
  EXPECT_THAT(loop, HasSubstr("Too many levels of symbolic links"));
  EXPECT_THAT(loop, Not(HasSubstr("not followed")));
  EXPECT_THAT(open_volume(folder.path("loop")).error().message, Not(HasSubstr("not followed")));
}

// Root may do everything, and is another user here.
class OtherUser {
 public:
  OtherUser() { EXPECT_EQ(::geteuid() == 0 ? ::seteuid(65534) : 0, 0); }
  ~OtherUser() { EXPECT_EQ(::getuid() == 0 ? ::seteuid(0) : 0, 0); }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
};

TEST(Volume, WhoMayNotReadIsNotToldToWrite) {
  const test::TemporaryFolder folder;
  folder.write("file", "1");
  ASSERT_EQ(::chmod(folder.path("file").c_str(), 0200), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const auto volume = open_volume(folder.path().string()).value();
  {
    const OtherUser other;
    EXPECT_THAT(volume->open_input("file").error().message,
                HasSubstr("; give this user the right to read it"));
    EXPECT_THAT(volume->open_output("new").error().message,
                HasSubstr("; give this user the right to write there"));
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
}

TEST(Volume, OfOneThatIsMountedReadOnlyNoRightsAreAskedFor) {
  const test::TemporaryFolder folder;
  testing::FailingCalls calls;
  const auto volume = open_volume(folder.path().string(), Links::Refused, calls).value();
  calls.forget();
  calls.fails_at = 0;
  calls.error = EROFS;
  EXPECT_THAT(volume->open_output("new").error().message, HasSubstr("; the volume is mounted read-only: "));
}

TEST(Volume, NamesAreGivenOnce) {
  const test::TemporaryFolder folder;
  folder.write("a/file", "a");
  folder.write("b/file", "b");
  const auto volume = open_volume(folder.path().string()).value();
  EXPECT_FALSE(volume->rename("a", "b"));
  EXPECT_FALSE(volume->rename("a/file", "b/file"));
  EXPECT_FALSE(volume->make_folder("a"));
  EXPECT_EQ(test::contents(folder.path("b/file")), "b");
}

// More than may be under way to the disk at a time, in pieces that neither begin nor end with a page.
TEST(Volume, LargeFilesAreWhatWasWritten) {
  const test::TemporaryFolder folder;
  const auto volume = open_volume(folder.path().string()).value();
  std::string bytes(90'000'001, 'x');
  for (std::size_t i = 0; i < bytes.size(); i += 97) bytes[i] = static_cast<char>(i * 2'654'435'761U >> 11);
  const auto file = volume->open_output("large").value();
  constexpr std::size_t kPiece = 3'000'007;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = std::as_bytes(std::span(bytes)).subspan(at, std::min(kPiece, bytes.size() - at));
    ASSERT_TRUE(file->write(static_cast<int64_t>(at), piece));
  }
  ASSERT_TRUE(file->sync());
  // Again, over what the disk has.
  const auto again = std::as_bytes(std::span(bytes)).subspan(5, 2'000'000);
  ASSERT_TRUE(file->write(5, again));
  ASSERT_TRUE(file->sync());
  EXPECT_TRUE(test::contents(folder.path("large")) == bytes);
}

TEST(Volume, AFolderThatIsAbsentIsMadeOnlyWhereOneWrites) {
  const test::TemporaryFolder folder;
  const auto absent = open_volume(folder.path("a/b"));
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("a/b: cannot open"));
  EXPECT_TRUE(make_volume(folder.path("a/b")));
  EXPECT_TRUE(open_volume(folder.path("a/b")));
}

}  // namespace
}  // namespace caravan::checkpoint
