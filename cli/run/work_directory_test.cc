#include "cli/run/work_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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

TEST(WorkDirectory, BelongsToOneRunAtATime) {
  const Result<WorkDirectory> parent = temporary();
  ASSERT_TRUE(parent);
  const std::string path = parent->path() / "shared";
  {
    const Result<WorkDirectory> first = WorkDirectory::create(path);
    ASSERT_TRUE(first);
    const Result<WorkDirectory> second = WorkDirectory::create(path);
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
       {parent->path() / "file", parent->path() / "file" / "below", parent->path() / std::string(120, 'x')}) {
    const Result<WorkDirectory> refused = WorkDirectory::create(path.string());
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
    EXPECT_THAT(refused.error().message, HasSubstr("--work-directory"));
  }
}

}  // namespace
}  // namespace caravan::cli
