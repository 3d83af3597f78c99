#include "common/file_contents.h"

#include <gtest/gtest.h>

#include "common/testing/temporary_folder.h"

namespace caravan {
namespace {

TEST(FileContents, AreTheWholeFile) {
  const test::TemporaryFolder files;
  const std::string text(10'000, 'x');
  EXPECT_EQ(file_contents(files.write("long", text)), text);
  EXPECT_EQ(file_contents(files.write("empty", "")), "");
}

TEST(FileContents, EndWhereTheBoundIs) {
  const test::TemporaryFolder files;
  const std::string path = files.write("long", std::string(10'000, 'x'));
  EXPECT_EQ(file_beginning(path, 5'000), std::string(5'000, 'x'));
  EXPECT_EQ(file_beginning(path, 10'001), std::string(10'000, 'x'));
  EXPECT_EQ(file_beginning(path, 0), "");
}

TEST(FileContents, AreRefusedWhereAFileIsLargerThanTheBoundOrIsNone) {
  const test::TemporaryFolder files;
  const std::string path = files.write("long", std::string(10'000, 'x'));
  EXPECT_EQ(file_within(path, 10'000), std::string(10'000, 'x'));
  EXPECT_EQ(file_within(path, 9'999).error().message, "cannot read " + path + ": it is larger than 9.8 KiB");
  EXPECT_EQ(file_within("/dev/zero", 10).error().message,
            "cannot read /dev/zero: it is a pipe or a device, not a file");
  EXPECT_EQ(file_within(files.path("none"), 10).error().message,
            "cannot read " + files.path("none") + ": No such file or directory");
}

TEST(FileContents, OfAWrongPathAreBadInputAndOfABrokenDiskAreNot) {
  const test::TemporaryFolder files;
  files.write("folder/file", "");
  struct Case {
    std::string path;
    std::string why;
    ExitCode code;
  };
  for (const Case& c : {Case{files.path("nowhere"), "No such file or directory", ExitCode::kBadInput},
                        Case{files.path("folder"), "Is a directory", ExitCode::kBadInput},
                        Case{"/proc/self/mem", "Input/output error", ExitCode::kJobFailed}}) {
    const auto text = file_contents(c.path);
    ASSERT_FALSE(text) << c.path;
    EXPECT_EQ(text.error().message, "cannot read " + c.path + ": " + c.why);
    EXPECT_EQ(text.error().code, c.code) << c.path;
  }
}

}  // namespace
}  // namespace caravan
