#include "common/line_reader.h"

#include <gmock/gmock.h>

#include "common/testing/lines.h"

namespace caravan {
namespace {

using ::testing::ElementsAre;

const std::string kRefused(test::kRefusedLine);

TEST(LineReader, FindsTheSameLinesWhereverTheChunksEnd) {
  const std::string text = "{\"a\":1}\n\n{\"b\":\"\xC3\xA9\"}\r\n{}\n";
  for (std::size_t size = 1; size <= text.size(); ++size)
    EXPECT_THAT(test::read_lines(text, size, 100), ElementsAre("{\"a\":1}", "{\"b\":\"\xC3\xA9\"}", "{}"))
        << "chunks of " << size;
}

TEST(LineReader, AnUnfinishedLineIsNotALine) {
  LineReader lines(100);
  lines.add("{\"a\":");
  EXPECT_FALSE(lines.next().value());
}

TEST(LineReader, RefusesALineWithoutEnd) {
  LineReader lines(/*longest_line=*/8);
  lines.add("12345678\n");
  EXPECT_EQ(lines.next().value(), "12345678");
  lines.add("123456789");
  EXPECT_FALSE(lines.next());
}

TEST(LineReader, NoPartOfALineThatIsTooLongIsALine) {
  const std::string text = "before\n" + std::string(20, 'x') + "{}\nafter\n123456789\n\n{}\n";
  for (std::size_t size = 1; size <= text.size(); ++size)
    EXPECT_THAT(test::read_lines(text, size, 8), ElementsAre("before", kRefused, "after", kRefused, "{}"))
        << "chunks of " << size;
}

}  // namespace
}  // namespace caravan
