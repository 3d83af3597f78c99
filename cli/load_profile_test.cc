#include "cli/load_profile.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "common/testing/checkout.h"

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;

Result<planner::EngineProfile> load_text(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return load_profile(path);
}

TEST(LoadProfile, EveryProfileThatIsCheckedInCanBeRead) {
  int read = 0;
  for (const char* folder : {"planner/profiles", "bench/planner/profiles"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(test::source_folder()) / folder)) {
      const auto profile = load_profile(entry.path());
      ASSERT_TRUE(profile) << profile.error().message;
      EXPECT_EQ(profile->name, entry.path().stem());
      ++read;
    }
  }
  EXPECT_GE(read, 3);
}

TEST(LoadProfile, TheBuiltInProfileIsItsFile) {
  const auto file = load_profile(test::source_folder() + "/planner/profiles/caravan.yaml");
  const planner::EngineProfile built_in = planner::default_engine_profile();
  EXPECT_EQ(file->name, built_in.name);
  EXPECT_EQ(file->gemm_efficiency, built_in.gemm_efficiency);
  EXPECT_EQ(file->gpu_context_bytes, built_in.gpu_context_bytes);
  EXPECT_EQ(file->stage_split, built_in.stage_split);
}

TEST(LoadProfile, NamesFileLineAndFieldOfAMistake) {
  const auto profile = load_text("bad_profile.yaml", "name: bad\ngemmEfficiency: \"1.5\"\n");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ExitCode::kBadInput);
  EXPECT_THAT(profile.error().message, HasSubstr("bad_profile.yaml:2: gemmEfficiency: "));
  EXPECT_THAT(profile.error().message, HasSubstr("gradientBytes"));
}

}  // namespace
}  // namespace caravan::cli
