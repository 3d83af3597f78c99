#include "cli/data/tokenizer_json.h"

#include <gtest/gtest.h>

#include "common/testing/checkout.h"

namespace caravan::cli {
namespace {

// Characters of one to four bytes, some of which the tokenizer has in pieces only.
constexpr char kText[] =
    "In the beginning \xC3\xA9t\xC3\xA9, \xE4\xB8\xAD\xE6\x96\x87 and \xF0\x9F\x90\xAB.\n";

class TokenizerJsonFile : public testing::Test {
 protected:
  std::vector<uint32_t> ids(const std::string& text) const {
    const std::vector<data::Token> tokens = tokenizer_.encode(text).value();
    std::vector<uint32_t> ids;
    for (const data::Token& token : tokens) ids.push_back(token.id);
    return ids;
  }

  const TokenizerJson tokenizer_ =
      TokenizerJson::open(test::source_folder() + "/tests/data/tiny_tokenizer.json").value();
};

TEST_F(TokenizerJsonFile, MakesTheTextOfTokensAgain) {
  EXPECT_EQ(tokenizer_.decode(ids(kText)).value(), kText);
  EXPECT_EQ(tokenizer_.decode({}).value(), "");
}

}  // namespace
}  // namespace caravan::cli
