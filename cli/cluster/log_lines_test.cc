#include "cli/cluster/log_lines.h"

#include <gmock/gmock.h>

#include <vector>

namespace caravan::cli {
namespace {

using ::testing::ElementsAre;

class LogLinesTest : public ::testing::Test {
 protected:
  std::vector<std::string> told_;
  const TakeLine take_ = [this](std::string_view line) { told_.emplace_back(line); };
  LogLines lines_{take_};
};

TEST_F(LogLinesTest, ArePutTogetherFromParts) {
  lines_.add("a", "one\ntw");
  lines_.add("a", "o\r\n\nthree");
  EXPECT_THAT(told_, ElementsAre("one", "two", ""));
  lines_.finish();
  EXPECT_THAT(told_, ElementsAre("one", "two", "", "three"));
}

TEST_F(LogLinesTest, DoNotGoOnInAnotherPod) {
  lines_.add("a", "last words");
  lines_.add("b", "first words\n");
  EXPECT_THAT(told_, ElementsAre("last words", "first words"));
}

TEST_F(LogLinesTest, AreOfBoundedLength) {
  for (int i = 0; i < 3; ++i) lines_.add("a", std::string(LogLines::kLongest / 2, 'x'));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_.front().size(), LogLines::kLongest);
}

}  // namespace
}  // namespace caravan::cli
