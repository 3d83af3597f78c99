#include "common/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace caravan {
namespace {

using namespace std::string_literals;

TEST(Utf8, TextOfEveryLengthOfSequenceIsValid) {
  EXPECT_EQ(first_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x99"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("\xF4\x8F\xBF\xBF"), std::nullopt) << "U+10FFFF is the last one";
}

TEST(Utf8, CharactersAreCountedAndNotBytes) {
  EXPECT_EQ(utf8_characters("50% · 39.8"), 10U);
  EXPECT_EQ(utf8_characters(""), 0U);
}

TEST(Utf8, TheFirstBadByteIsFound) {
  struct Case {
    std::string what;
    std::string bytes;
  };
  const Case cases[] = {
      {"lone continuation byte", "ab\x80"s},
      {"overlong slash", "ab\xC0\xAF"s},
      {"overlong three bytes", "ab\xE0\x80\x80"s},
      {"surrogate", "ab\xED\xA0\x80"s},
      {"beyond U+10FFFF", "ab\xF4\x90\x80\x80"s},
      {"cut off", "ab\xE2\x82"s},
      {"Latin-1", "ab\xE9t\xE9"s},
      {"UTF-16 mark", "ab\xFF\xFE"s},
  };
  for (const auto& [what, bytes] : cases) EXPECT_EQ(first_invalid_utf8(bytes), 2U) << what;
}

TEST(Readable, KeepsLinesAndDropsWhatMovesTheCursor) {
  EXPECT_EQ(readable("a\n\tb", 100), "a\n\tb");
  EXPECT_EQ(readable("\x1B[2Jgone\r\x07\x7F", 100), "[2Jgone");
  EXPECT_EQ(readable("\xC2\x9B"
                     "31m\xC2\xA0\xC3\xA9",
                     100),
            "31m\xC2\xA0\xC3\xA9")
      << "C1 goes, Latin-1 stays";
  EXPECT_EQ(readable("a\xFFz", 100), "az");
  EXPECT_EQ(readable("a\0b"s, 100), "ab");
}

TEST(Readable, IsWholeWhereNobodyWantsLess) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(readable(text), text);
}

TEST(Readable, AsOneLineHasNoEndsOfLines) {
  EXPECT_EQ(readable_line("\x1B[2Ja\n\tb\n", 100), "[2Ja  b ");
  EXPECT_EQ(readable_line("a\n3456789", 8), "a 345...");
}

TEST(Readable, IsCutBetweenCharacters) {
  EXPECT_EQ(readable("12345678", 8), "12345678");
  EXPECT_EQ(readable("123456789", 8), "12345...");
  EXPECT_EQ(readable("1234\xE2\x82\xAC\xE2\x82\xAC", 8), "1234...");
}

TEST(Utf8, APrefixHasWholeCharacters) {
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("abc", 2), "ab");
  EXPECT_EQ(utf8_prefix("a€b", 4), "a€");
  for (const std::size_t bytes : {1, 2, 3}) EXPECT_EQ(utf8_prefix("a€b", bytes), "a") << bytes;
  EXPECT_EQ(utf8_prefix("€", 2), "");
}

}  // namespace
}  // namespace caravan
