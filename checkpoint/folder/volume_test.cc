#include "checkpoint/folder/volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

using testing::HasSubstr;

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
