#include "service/answer/step_cursor.h"

#include <gmock/gmock.h>

#include "service/answer/token.h"

namespace caravan::service {
namespace {

TEST(StepCursor, ComesBackAsItWasGiven) {
  EXPECT_EQ(step_cursor_of(text_of({2, 30}, "uid"), "uid").value(), (StepCursor{2, 30}));
  EXPECT_EQ(step_cursor_of("", "uid").value(), StepCursor());
}

TEST(StepCursor, OfAnotherJobOrMadeUpIsNone) {
  for (const std::string& text :
       {text_of({2, 30}, "another"), token_of({"uid"}, {"-1", "30"}), token_of({"uid"}, {"2", "-30"}),
        token_of({"uid"}, {"2", "30", "0"}), token_of({"uid"}, {"2", "30x"}), std::string("garbage")}) {
    const auto refused = step_cursor_of(text, "uid");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().fields.front().subject, "cursor") << text;
  }
}

}  // namespace
}  // namespace caravan::service
