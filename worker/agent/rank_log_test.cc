#include "worker/agent/rank_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"

namespace caravan::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RankLogTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() / "log"; }
  void append(const std::string& text) { std::ofstream(path(), std::ios::binary | std::ios::app) << text; }
  std::vector<std::string> tail_of(const std::string& text) {
    std::ofstream(path(), std::ios::binary) << text;
    return last_log_lines(path());
  }
  std::vector<std::string> look(LogFollower& log) {
    now_ += kBetweenLooks;
    return log.take(false, now_);
  }

  test::TemporaryFolder folder_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(RankLogTest, TheLastLinesWithoutEmptyOnes) {
  EXPECT_THAT(tail_of("a\n\n  \nb\nunfinished"), ElementsAre("a", "b", "unfinished"));
  EXPECT_THAT(tail_of(""), IsEmpty());
  EXPECT_THAT(last_log_lines("/no/such/file"), IsEmpty());
}

TEST_F(RankLogTest, ALongLogGivesItsLastTenLines) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  const auto lines = tail_of(text);
  ASSERT_EQ(lines.size(), kMaxLogLines);
  EXPECT_EQ(lines.front(), "99990");
  EXPECT_EQ(lines.back(), "99999");
}

TEST_F(RankLogTest, BytesThatAreNoTextAreReplacedAndLongLinesCut) {
  EXPECT_THAT(tail_of("\xFF\x1B[31mred\n"), ElementsAre("??[31mred"));
  EXPECT_THAT(tail_of("\t\x7F\xC2\x9B[2J \xC3\xA9\n"), ElementsAre("\t??[2J \xC3\xA9"));
  EXPECT_EQ(tail_of(std::string(1'000'000, 'x')).size(), 0U) << "no line begins in what is read";
  EXPECT_EQ(tail_of(std::string(1000, 'x')).at(0).size(), kMaxLogLineBytes);
}

TEST_F(RankLogTest, IsFollowedLineByLine) {
  append("a\nb");
  LogFollower log(path());
  EXPECT_THAT(look(log), ElementsAre("a"));
  EXPECT_THAT(look(log), IsEmpty());
  append("c\n\x1B[2Jd\n\ne");
  EXPECT_THAT(log.take(false, now_), IsEmpty()) << "too soon";
  EXPECT_THAT(look(log), ElementsAre("bc", "?[2Jd"));
  EXPECT_THAT(log.take(true, now_), ElementsAre("e")) << "its last word, however soon";
}

TEST_F(RankLogTest, OfAFloodTheEndIsFollowed) {
  append("");
  LogFollower log(path());
  const std::string line = std::string(1023, 'x') + "\n";
  for (int i = 0; i < 100; ++i) append(line);
  append("the end\n");
  const std::vector<std::string> lines = look(log);
  ASSERT_EQ(lines.size(), 1 + 63 + 1U) << "whole lines";
  EXPECT_THAT(lines.front(), HasSubstr("36.0 KiB of its log are in " + path()));
  EXPECT_EQ(lines.back(), "the end");
  EXPECT_THAT(look(log), IsEmpty());
}

TEST_F(RankLogTest, WhereThereIsLittleRoomItsEndStaysAfterItWasFollowed) {
  const auto first_data = [this] {
    const UniqueFd file(open(path().c_str(), O_RDONLY | O_CLOEXEC));
    return static_cast<std::int64_t>(lseek(file.get(), 0, SEEK_DATA));
  };
  constexpr std::int64_t kKept = 1 << 20;
  append("");
  LogFollower all(path());
  LogFollower end(path(), kKept);
  for (int i = 0; i < 4; ++i) append(std::string((1 << 20) - 1, 'x') + "\n");
  append("the end\n");
  EXPECT_EQ(look(all).back(), "the end");
  EXPECT_EQ(first_data(), 0);
  EXPECT_EQ(look(end).back(), "the end");
  EXPECT_GE(first_data(), 3 * kKept - (64 << 10)) << "whole blocks";
  append("and more\n");
  EXPECT_THAT(look(end), ElementsAre("and more"));
  EXPECT_EQ(std::filesystem::file_size(path()), 4 * kKept + 17) << "its length does not change";
  EXPECT_THAT(last_log_lines(path()), ElementsAre("the end", "and more"));
}

TEST_F(RankLogTest, IsFollowedFromItsBeginningWhenItWasCut) {
  append("first\n");
  LogFollower log(path());
  EXPECT_THAT(look(log), ElementsAre("first"));
  std::filesystem::resize_file(path(), 0);
  append("2nd\n");
  EXPECT_THAT(look(log), ElementsAre("2nd"));
}

}  // namespace
}  // namespace caravan::agent
