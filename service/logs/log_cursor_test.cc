// Cursors come back as they went out, and nothing else is taken for one.
#include "service/logs/log_cursor.h"

#include <gtest/gtest.h>

#include "service/answer/token.h"

namespace caravan::service {
namespace {

const LogSource kSource{.job = "namespaces/s/jobs/train", .node = 1, .rank = 9};

TEST(LogCursor, ComesBackAsItWentOut) {
  const LogCursor in_a_line{
      .pod = "train-1-a2",
      .uid = "u",
      .attempt = 2,
      .place = controller::LogPlace{"2026-01-01T00:00:01.000000000Z", 2, 5'000'000'000}};
  const LogCursor at_the_beginning{.pod = "train-1-a2", .uid = "u", .attempt = 2};
  LogCursor at_the_end = in_a_line;
  at_the_end.is_read = true;
  for (const LogCursor& cursor : {in_a_line, at_the_beginning, at_the_end}) {
    const auto back = cursor_of(text_of(cursor, kSource), kSource);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, cursor);
  }
}

TEST(LogCursor, BelongsToWhatWasAskedForAndIsNeverGuessed) {
  const std::string text = text_of({.pod = "p", .uid = "u"}, kSource);
  LogSource other = kSource;
  other.rank = std::nullopt;
  EXPECT_FALSE(cursor_of(text, other));
  const std::vector<std::string> identity{kSource.job, "1", "9"};
  const std::vector<std::vector<std::string>> forged{{"p", "u", "x", "", "", "1", "0"},
                                                     {"p", "u", "1", "", "yesterday", "1", "0"},
                                                     {"p", "u", "1", "", "2026-01-01T00:00:01Z", "1", "-1"},
                                                     {"p", "u", "1", "", "2026-01-01T00:00:01Z", "", "1"},
                                                     {"p", "u", "99999999999", "", "", "1", "0"},
                                                     {"p", "u", "1", "", "", "1"}};
  for (const auto& parts : forged) {
    const auto refused = cursor_of(token_of(identity, parts), kSource);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fields.at(0).subject, "cursor");
  }
  EXPECT_FALSE(cursor_of("garbage", kSource));
}

}  // namespace
}  // namespace caravan::service
