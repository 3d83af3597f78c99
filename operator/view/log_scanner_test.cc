// What is read of a log, and that it is gone on with at any byte with nothing lost and nothing read twice.
#include "operator/view/log_scanner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/testing/turn.h"

namespace caravan::controller {
namespace {

std::string line(int second, const std::string& text) {
  return fmt::format("2026-01-01T00:{:02}:{:02}.000000000Z {}\n", second / 60, second % 60, text);
}

std::string of_rank(int rank, const std::string& text) {
  return fmt::format("2026-01-01T00:00:00.000 info agent-0: rank {}: {}", rank, text);
}

// Read to its end, in pieces of so many bytes.
std::string read(std::string_view log, std::optional<int> rank, const std::optional<LogPlace>& from,
                 std::size_t piece) {
  LogScanner scanner(rank, from);
  std::string text;
  for (std::size_t at = 0; at < log.size(); at += piece) {
    if (!scanner.take(log.substr(at, piece), text)) return "flawed";
  }
  return scanner.end(text) ? text : "flawed";
}

// Two lines of one time, an empty one, one that is longer than what is held, and none of its own at the end.
std::string hard_log() {
  return line(1, of_rank(0, "one")) + line(1, of_rank(0, "one")) + line(2, of_rank(1, "other")) +
         line(5, "") + line(6, of_rank(0, std::string(2000, 'x'))) + line(3, of_rank(0, "late")) +
         line(70, of_rank(1, "more")) + "2026-01-01T00:01:11.000000000Z " + of_rank(0, "last");
}

TEST(LogScanner, GivesTheLinesWithoutTheServersTimes) {
  EXPECT_EQ(read(line(1, "one") + line(2, "") + line(3, "three"), {}, {}, 1000), "one\n\nthree\n");
  EXPECT_EQ(read(hard_log(), 1, {}, 1000), "other\nmore\n");
}

TEST(LogScanner, GoesOnAtEveryByteWhereverItWasBrokenOff) {
  CARAVAN_BY_TURNS();
  const std::string log = hard_log();
  for (const std::optional<int> rank : {std::optional<int>(), std::optional(0), std::optional(1)}) {
    const std::string whole = read(log, rank, {}, log.size());
    for (std::size_t broken = 0; broken <= log.size(); ++broken) {
      LogScanner first(rank, {});
      std::string text;
      ASSERT_TRUE(first.take(std::string_view(log).substr(0, broken), text));
      ASSERT_EQ(text + read(log, rank, first.place(), 7), whole) << "broken off after " << broken << " bytes";
    }
  }
}

TEST(LogScanner, IsTheSameHoweverTheBytesCome) {
  for (const std::size_t piece : {1, 2, 31, 512, 513})
    EXPECT_EQ(read(hard_log(), 0, {}, piece), read(hard_log(), 0, {}, 100'000)) << piece;
}

TEST(LogScanner, AsksForAMinuteMoreSinceTimesMayGoBack) {
  EXPECT_EQ(since_of({.time = "2026-01-01T00:01:30.999999999Z"}), "2026-01-01T00:00:30Z");
  EXPECT_EQ(since_of({.time = "1970-01-01T00:00:01Z"}), "1970-01-01T00:00:00Z");
}

TEST(LogScanner, SaysThatAPlaceIsLostAndGivesNothing) {
  LogScanner before({}, {});
  std::string text;
  ASSERT_TRUE(before.take(line(1, "one") + line(2, "two"), text));
  const auto place = before.place();
  text.clear();
  LogScanner rotated({}, place);
  ASSERT_TRUE(rotated.take(line(3, "three"), text)) << "times may go back";
  const auto later = rotated.take(line(90, "four"), text);
  ASSERT_FALSE(later) << "but not by so much";
  EXPECT_TRUE(later.error().is_lost);
  LogScanner short_log({}, place);
  ASSERT_TRUE(short_log.take(line(1, "one"), text));
  const auto ended = short_log.end(text);
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().is_lost);
  LogScanner empty({}, place);
  EXPECT_FALSE(empty.end(text));
  EXPECT_EQ(text, "");
}

TEST(LogScanner, ALineThatIsShorterThanItWasIsLost) {
  const LogPlace behind_its_end{.time = "2026-01-01T00:00:01.000000000Z", .bytes = 1000};
  EXPECT_EQ(read(line(1, "one") + line(2, "two"), {}, behind_its_end, 1000), "flawed");
  const LogPlace in_its_head{.time = "2026-01-01T00:00:01.000000000Z", .bytes = 3};
  EXPECT_EQ(read(line(1, "one") + line(2, "two"), {}, in_its_head, 1000), "flawed");
}

// As a kubelet answers, with 200, that has no log.
TEST(LogScanner, TellsWordsOfTheServerFromALog) {
  LogScanner scanner({}, {});
  std::string text;
  const auto flawed = scanner.take(line(1, "one") + "unable to retrieve container logs for c://1\n", text);
  ASSERT_FALSE(flawed);
  EXPECT_FALSE(flawed.error().is_lost);
  EXPECT_EQ(flawed.error().words, "unable to retrieve container logs for c://1");
  EXPECT_EQ(text, "one\n");
}

// A rank that prints a megabyte without an end of line is passed on as it comes.
TEST(LogScanner, HoldsNoMoreThanALinesHead) {
  LogScanner scanner(0, {});
  std::string text;
  const std::string begun = line(1, of_rank(0, std::string(1 << 20, 'x')));
  ASSERT_TRUE(scanner.take(std::string_view(begun).substr(0, 1000), text));
  EXPECT_EQ(text.size() + (begun.find("xxx")), 1000u);
}

}  // namespace
}  // namespace caravan::controller
