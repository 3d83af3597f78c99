#include "cli/generate/prompt.h"

#include <gmock/gmock.h>

#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;

TEST(Prompt, IsTheTextWithoutTheNewLineAtItsEnd) {
  const test::TemporaryFolder files;
  EXPECT_EQ(read_prompt(files.write("echo", "In the\nbeginning\n")), "In the\nbeginning");
  EXPECT_EQ(read_prompt(files.write("printf", "In the ")), "In the ");
  EXPECT_EQ(read_prompt(files.write("empty", "")), "");
}

TEST(Prompt, IsRefusedWhereNobodyCouldGoOnFromIt) {
  const test::TemporaryFolder files;
  const auto away = read_prompt(files.path("nowhere"));
  ASSERT_FALSE(away);
  EXPECT_THAT(away.error().message, HasSubstr("No such file or directory"));
  const auto long_one = read_prompt(files.write("long", std::string(kLongestPrompt + 1, 'x')));
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().message, HasSubstr("larger than 1.0 MiB"));
  EXPECT_EQ(long_one.error().code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace caravan::cli
