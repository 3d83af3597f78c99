#include "cli/data/tokenizer_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <span>

#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "data/text_source.h"
#include "data/tokenize_text.h"

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

// Its tokens are runs of up to 128 spaces, of whose places it would leave all spaces out.
std::string tokenizer_of_spaces() {
  constexpr char kBytes[] =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})";
  std::string run = "\xC4\xA0";  // a space, as vocabularies of bytes have it
  std::string vocabulary = fmt::format(R"("x": 0, "{}": 1)", run);
  std::string merges;
  for (int id = 2; id <= 8; ++id) {
    merges += fmt::format(R"({}"{} {}")", merges.empty() ? "" : ", ", run, run);
    run += run;
    vocabulary += fmt::format(R"(, "{}": {})", run, id);
  }
  return fmt::format(
      R"({{"pre_tokenizer": {0}, "post_processor": {0}, "decoder": {0},
           "model": {{"type": "BPE", "vocab": {{{1}}}, "merges": [{2}]}}}})",
      kBytes, vocabulary, merges);
}

TEST(TokenizerJson, OfARunOfSpacesThatIsLongerThanAWindowNoneIsLost) {
  const test::TemporaryFolder folder;
  const auto tokenizer = TokenizerJson::open(folder.write("tokenizer.json", tokenizer_of_spaces())).value();
  const std::string text = "x" + std::string(600'000, ' ');
  auto source = data::TextSource::open(folder.write("text", text)).value();
  std::vector<uint32_t> ids;
  const auto read = data::tokenize_text(tokenizer, source, [&](std::span<const data::Token> tokens, int64_t) {
    for (const data::Token& token : tokens) ids.push_back(token.id);
    return Status{};
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(tokenizer.decode(ids).value() == text) << ids.size() << " tokens";
}

}  // namespace
}  // namespace caravan::cli
