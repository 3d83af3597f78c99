#include "cli/run/work_directory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "common/environment.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<WorkDirectory> temporary() {
  return WorkDirectory::create("");
}

TEST(WorkDirectory, IsPrivateAndGoesWithItsContent) {
  fs::path path;
  {
    const Result<WorkDirectory> folder = temporary();
    ASSERT_TRUE(folder) << folder.error().message;
    path = folder->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path / "rank.log") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(WorkDirectory, StaysWhenItIsKept) {
  fs::path path;
  {
    Result<WorkDirectory> folder = temporary();
    ASSERT_TRUE(folder);
    folder->keep();
    EXPECT_TRUE(folder->is_kept());
    path = folder->path();
  }
  EXPECT_TRUE(fs::remove(path));
}

TEST(WorkDirectory, OfTheUserIsCreatedAndStays) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const fs::path path = parent->path() / "a" / "b";
  { ASSERT_TRUE(WorkDirectory::create(path.string())); }
  EXPECT_TRUE(fs::is_directory(path));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
}

TEST(WorkDirectory, MayHaveALongPathSinceSocketsLieElsewhere) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const Result<WorkDirectory> folder = WorkDirectory::create(parent->path() / std::string(120, 'x'));
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_LT(folder->sockets().native().size(), 100u);
}

TEST(WorkDirectory, SocketsLieWhereNobodyElseMayEnterHoweverOpenTheFolderIs) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const fs::path open = parent->path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms(0775));
  fs::path sockets;
  {
    const Result<WorkDirectory> folder = WorkDirectory::create(open);
    ASSERT_TRUE(folder) << folder.error().message;
    sockets = folder->sockets();
    EXPECT_EQ(fs::status(sockets).permissions(), fs::perms::owner_all);
    EXPECT_NE(sockets.parent_path(), open) << "whoever may write there could put another in its place";
    EXPECT_EQ(fs::status(open).permissions(), fs::perms(0775));
    std::ofstream(sockets / "reports.sock") << "a socket";
  }
  EXPECT_FALSE(fs::exists(sockets));
  EXPECT_TRUE(fs::exists(open));
}

TEST(WorkDirectory, AllowsEveryTmpdirWhoseSocketsHaveAnAddress) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const std::string before = environment_variable("TMPDIR");
  const auto made_under = [&](std::size_t length) {
    const fs::path folder = parent->path() / std::string(length - parent->path().native().size() - 1, 'x');
    fs::create_directory(folder);
    setenv("TMPDIR", folder.c_str(), 1);
    Result<WorkDirectory> made = temporary();
    if (before.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before.c_str(), 1);
    }
    return made;
  };
  const Result<WorkDirectory> longest = made_under(75);
  ASSERT_TRUE(longest) << longest.error().message;
  EXPECT_EQ((longest->sockets() / "coordinator.sock").native().size(), 107u);
  const Result<WorkDirectory> too_long = made_under(76);
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("TMPDIR: "));
}

TEST(WorkDirectory, BelongsToOneRunAtATime) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const std::string path = parent->path() / "shared";
  {
    const Result<WorkDirectory> first = WorkDirectory::create(path);
    ASSERT_TRUE(first);
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
    const auto before = fs::last_write_time(path);
    const Result<WorkDirectory> second = WorkDirectory::create(path);
    EXPECT_EQ(fs::last_write_time(path), before) << "no file of the first one came or went";
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::kBadInput);
    EXPECT_THAT(second.error().message, HasSubstr(path));
  }
  EXPECT_TRUE(WorkDirectory::create(path)) << "free again after the first";
}

TEST(WorkDirectory, ThatCannotBeUsedIsBadInput) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  std::ofstream(parent->path() / "file") << "text";
  for (const fs::path& path :
       {parent->path() / "file", parent->path() / "file" / "below", fs::path("/proc")}) {
    const Result<WorkDirectory> refused = WorkDirectory::create(path.string());
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
    EXPECT_THAT(refused.error().message,
                HasSubstr(fmt::format("--work-directory: cannot write into '{}': ", path.string())));
  }
}

}  // namespace
}  // namespace caravan::cli
