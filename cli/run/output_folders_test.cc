#include "cli/run/output_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(WhyUnwritable, LeavesWhatIsThereAsItWasAndNothingElse) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(why_unwritable(folder.write("trace", "old")), std::nullopt);
  EXPECT_EQ(test::contents(folder.path("trace")), "old");
  fs::create_symlink("trace", folder.path("link"));
  EXPECT_EQ(why_unwritable(folder.path("link")), std::nullopt);
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(why_unwritable(folder.path("new")), std::nullopt);
  EXPECT_FALSE(fs::exists(folder.path("new")));
}

TEST(WhyUnwritable, RefusesWhatIsNoRegularFileAndLeavesItAlone) {
  const test::TemporaryFolder folder;
  fs::create_symlink("nothing", folder.path("link"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  fs::create_directory(folder.path("folder"));
  for (const char* name : {"link", "pipe", "folder"})
    EXPECT_EQ(why_unwritable(folder.path(name)), "what is there is no regular file") << name;
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_FALSE(fs::exists(folder.path("nothing")));
}

TEST(WhyUnwritable, TakesACharacterDevice) {
  const test::TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder.path("link"));
  for (const std::string& path : {std::string("/dev/null"), folder.path("link")})
    EXPECT_EQ(why_unwritable(path), std::nullopt) << path;
  EXPECT_TRUE(fs::is_character_file(folder.path("link")));
}

TEST(TraceFolder, IsMadeAndEmpty) {
  const test::TemporaryFolder folder;
  const auto made = prepare_trace_folder(folder.path("some/traces"), 2);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, folder.path("some/traces"));
  EXPECT_TRUE(fs::is_empty(*made));
}

TEST(TraceFolder, LosesTheTracesOfAnEarlierRunAndNothingElse) {
  const test::TemporaryFolder folder;
  for (const char* name : {"rank-0.json", "rank-1.json", "rank-2.json", "notes"}) folder.write(name, "old");
  ASSERT_TRUE(prepare_trace_folder(folder.path().string(), 2));
  EXPECT_FALSE(fs::exists(folder.path("rank-0.json")));
  EXPECT_FALSE(fs::exists(folder.path("rank-1.json")));
  EXPECT_EQ(test::contents(folder.path("rank-2.json")), "old");
  EXPECT_EQ(test::contents(folder.path("notes")), "old");
}

TEST(TraceFolder, ThatTakesNoFilesIsBadInput) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  fs::create_directories(folder.path("full/rank-0.json/x"));
  fs::create_directories(folder.path("piped"));
  ASSERT_EQ(mkfifo(folder.path("piped/rank-0.json").c_str(), 0600), 0);
  fs::create_directories(folder.path("device"));
  fs::create_symlink("/dev/null", folder.path("device/rank-0.json"));
  for (const std::string& path : {file, file + "/below", folder.path("full"), folder.path("piped"),
                                  folder.path("device"), std::string("/proc/1/fdinfo")}) {
    const auto made = prepare_trace_folder(path, 1);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().code, ExitCode::kBadInput);
    EXPECT_THAT(made.error().message, HasSubstr("--trace: cannot write into '" + path + "': "));
  }
}

TEST(EventFolder, IsMadeAndKeepsWhatIsInIt) {
  const test::TemporaryFolder folder;
  folder.write("runs/first/events.out.tfevents.1", "old");
  const auto made = prepare_event_folder(folder.path("runs/first"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, folder.path("runs/first"));
  EXPECT_EQ(test::contents(folder.path("runs/first/events.out.tfevents.1")), "old");
  ASSERT_TRUE(prepare_event_folder(folder.path("runs/second")));
  EXPECT_TRUE(fs::is_empty(folder.path("runs/second")));
}

TEST(EventFolder, ThatTakesNoFilesIsBadInput) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& path : {file, file + "/below", std::string("/proc/1/fdinfo")}) {
    const auto made = prepare_event_folder(path);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().code, ExitCode::kBadInput);
    EXPECT_THAT(made.error().message, HasSubstr("--tensorboard: cannot write into '" + path + "': "));
  }
}

}  // namespace
}  // namespace caravan::cli
