#include "worker/trainer/generate/prompt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace caravan::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kVocabulary = 131;

TEST(Prompt, IsNumbersOfTokens) {
  EXPECT_THAT(tokens_of("65 0\n130\t7\n", kVocabulary).value(), ElementsAre(65, 0, 130, 7));
  EXPECT_THAT(tokens_of("65", kVocabulary).value(), ElementsAre(65));
}

TEST(Prompt, WhatIsNoNumberIsNamedWhereverItStands) {
  for (const std::string word : {"-", "+", "6x", "x", "1.5", "99999999999999999999"}) {
    for (const std::string& prompt : {"65 " + word, "65 " + word + "\n", word + " 65"}) {
      const auto tokens = tokens_of(prompt, kVocabulary);
      ASSERT_FALSE(tokens) << prompt;
      EXPECT_EQ(tokens.error().code, ExitCode::kBadInput) << prompt;
      EXPECT_EQ(tokens.error().message, fmt::format("the prompt: '{}' is no number of a token", word));
    }
  }
}

TEST(Prompt, HasOneTokenOfTheVocabularyAtLeast) {
  for (const char* blank : {"", " \n"})
    EXPECT_THAT(tokens_of(blank, kVocabulary).error().message, HasSubstr("must have at least one token"));
  for (const char* outside : {"65 131", "-1 65"})
    EXPECT_THAT(tokens_of(outside, kVocabulary).error().message,
                HasSubstr("is not in the model's vocabulary of 131"));
}

}  // namespace
}  // namespace caravan::trainer
