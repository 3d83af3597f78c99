#include "cli/page/node_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

class NodeLogTest : public ::testing::Test {
 protected:
  void log(const std::string& text) { folder_.write("node-0.log", written_ += text); }
  static std::string line(int number, int rank) {
    return fmt::format("2026-01-01T00:00:00Z info agent-0: rank {}: line {}\n", rank, number);
  }
  NodeLog reader(std::optional<int> rank = {}) { return {folder_.path("node-0.log"), rank}; }

  test::TemporaryFolder folder_;
  std::string written_;
};

TEST_F(NodeLogTest, OfAFileThatIsNotThereHasNoLines) {
  NodeLog log = reader();
  log.seek_last(10);
  EXPECT_TRUE(log.next(true).is_end);
  EXPECT_EQ(log.place().offset, 0u);
}

TEST_F(NodeLogTest, IsReadInWholeLinesUntilNothingMoreIsWritten) {
  log("one\ntw");
  NodeLog log_reader = reader();
  EXPECT_EQ(log_reader.next(false).text, "one\n");
  EXPECT_TRUE(log_reader.next(false).is_end);
  log("o\nthr");
  EXPECT_EQ(log_reader.next(false).text, "two\n");
  EXPECT_EQ(log_reader.next(true).text, "thr");
  EXPECT_TRUE(log_reader.next(true).is_end);
}

TEST_F(NodeLogTest, GoesOnWhereAnotherReaderWas) {
  log("one\ntwo\n");
  NodeLog first = reader();
  EXPECT_EQ(first.next(false).text, "one\ntwo\n");
  log("three\n");
  NodeLog second(folder_.path("node-0.log"), {}, first.place());
  EXPECT_EQ(second.next(false).text, "three\n");
}

TEST_F(NodeLogTest, OfARankIsWhatThisOnePrints) {
  log(line(1, 0) + line(2, 1) + "2026-01-01T00:00:00Z info agent-0: rank 10 started\n" + line(3, 10));
  EXPECT_EQ(reader(1).next(false).text, "line 2\n");
  EXPECT_EQ(reader(10).next(false).text, "line 3\n");
  const auto none = reader(7).next(false);
  EXPECT_EQ(none.text, "");
  EXPECT_FALSE(none.is_end) << "lines of others were passed over";
}

TEST_F(NodeLogTest, GivesALongLineOfARankInPartsAndTheRestToWhoGoesOn) {
  const std::string words(2 * NodeLog::kPartBytes, 'x');
  const std::string others = "2026-01-01T00:00:00Z info agent-0: rank 1: and 2026 agent-0: rank 0: ";
  log("2026-01-01T00:00:00Z info agent-0: rank 0: " + words + "\n" + others + words + "\n" + line(7, 0));
  std::string text;
  NodeLog::Place place;
  for (bool is_end = false; !is_end;) {
    NodeLog reader(folder_.path("node-0.log"), 0, place);
    const NodeLog::Part part = reader.next(false);
    is_end = part.is_end;
    text += part.text;
    place = reader.place();
  }
  EXPECT_EQ(text.size(), words.size() + 8);
  EXPECT_EQ(text, words + "\nline 7\n");
}

TEST_F(NodeLogTest, BeginsWithTheLastLines) {
  for (int number = 1; number <= 6; ++number) log(line(number, number % 2));
  NodeLog all = reader();
  all.seek_last(2);
  EXPECT_EQ(all.next(false).text, line(5, 1) + line(6, 0));
  NodeLog odd = reader(1);
  odd.seek_last(2);
  EXPECT_EQ(odd.next(false).text, "line 3\nline 5\n");
  NodeLog none = reader(1);
  none.seek_last(0);
  EXPECT_TRUE(none.next(false).is_end);
}

TEST_F(NodeLogTest, OfAnySizeIsReadInParts) {
  std::string long_line(3 * NodeLog::kPartBytes, 'x');
  log(long_line + "\n" + std::string(NodeLog::kTailBytes, 'y') + "\nlast\n");
  NodeLog parts = reader();
  EXPECT_EQ(parts.next(false).text, long_line.substr(0, NodeLog::kPartBytes));
  NodeLog tail = reader();
  tail.seek_last(10);
  EXPECT_EQ(tail.next(false).text, "last\n")
      << "of a line that is longer than what is looked at, nothing is given";
}

}  // namespace
}  // namespace caravan::cli
