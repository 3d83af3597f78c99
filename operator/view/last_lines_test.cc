#include "operator/view/last_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace caravan::controller {
namespace {

std::string line(int second, int rank, const std::string& text) {
  return fmt::format("2026-01-01T00:00:{:02}.000000000Z T info agent-0: rank {}: {}\n", second, rank, text);
}

TEST(LastLines, AreThoseOfTheRankHoweverTheBytesCome) {
  const std::string log = line(1, 0, "one") + line(2, 1, "other") + line(3, 0, std::string(2000, 'x')) +
                          line(4, 1, "other") + line(5, 0, "") + line(6, 1, "other");
  const std::string x = std::string(2000, 'x') + "\n";
  const std::vector<std::string> expected{"", "\n", x + "\n", "one\n" + x + "\n", "one\n" + x + "\n"};
  for (int most = 0; most < 5; ++most) {
    for (const std::size_t piece : {1, 7, 600, 10'000}) {
      LastLines last(0, most);
      for (std::size_t at = 0; at < log.size(); at += piece)
        ASSERT_TRUE(last.take(std::string_view(log).substr(at, piece)));
      LogScanner scanner(0, last.place());
      std::string text;
      ASSERT_TRUE(scanner.take(log, text));
      EXPECT_EQ(text, expected[most]) << most << " lines, in pieces of " << piece;
    }
  }
}

TEST(LastLines, AreCountedWithOneThatLacksItsEnd) {
  std::string log = line(1, 0, "one") + line(2, 0, "two") + line(3, 1, "other") + line(4, 0, "three");
  log.pop_back();
  const std::vector<std::string> expected{"three", "two\nthree", "one\ntwo\nthree"};
  for (int most = 1; most < 4; ++most) {
    LastLines last(0, most);
    ASSERT_TRUE(last.take(log));
    ASSERT_TRUE(last.end());
    LogScanner scanner(0, last.place());
    std::string text;
    ASSERT_TRUE(scanner.take(log, text));
    ASSERT_TRUE(scanner.end(text));
    EXPECT_EQ(text, expected[static_cast<std::size_t>(most) - 1]) << most << " lines";
  }
}

}  // namespace
}  // namespace caravan::controller
