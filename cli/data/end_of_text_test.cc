#include "cli/data/end_of_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "cli/data/tokenizer_json.h"
#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

using testing::HasSubstr;

class EndOfText : public testing::Test {
 protected:
  // added: tokens behind "a", each special or not.
  TokenizerJson tokenizer(const std::string& added) const {
    folder_.write(
        "tokenizer.json",
        fmt::format(R"({{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{}],
                      "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
                      "model": {{"type": "BPE", "vocab": {{"a": 0}}, "merges": []}}}})",
                    added));
    return TokenizerJson::open(folder_.path("")).value();
  }

  static std::string token(int id, const std::string& content, bool special) {
    return fmt::format(R"({{"id": {}, "content": "{}", "single_word": false, "lstrip": false, "rstrip": false,
                           "normalized": false, "special": {}}})",
                       id, content, special);
  }

  void configure(const std::string& config) const { folder_.write("tokenizer_config.json", config); }

  const test::TemporaryFolder folder_;
};

TEST_F(EndOfText, IsNoTagOfHtmlThatIsCalledAlike) {
  const TokenizerJson gemma = tokenizer(token(1, "</s>", false) + "," + token(2, "<eos>", true));
  EXPECT_EQ(find_end_of_text(gemma).value(), 2u);
  EXPECT_EQ(gemma.id_of("</s>"), 1u) << "whoever names it gets it";
  const TokenizerJson both = tokenizer(token(1, "</s>", true) + "," + token(2, "<eos>", true));
  EXPECT_EQ(find_end_of_text(both).value(), 2u);
  EXPECT_EQ(find_end_of_text(tokenizer(token(1, "</s>", true))).value(), 1u);
  EXPECT_EQ(find_end_of_text(tokenizer(token(1, "</s>", false))).value(), std::nullopt);
}

TEST_F(EndOfText, IsWhatTheConfigurationSaysWhereNoNameIsKnown) {
  const TokenizerJson own = tokenizer(token(1, "</s>", false) + "," + token(2, "<|stop|>", true));
  configure(R"({"eos_token": "<|stop|>"})");
  EXPECT_EQ(find_end_of_text(own).value(), 2u);
  configure(R"({"eos_token": {"content": "</s>"}})");
  EXPECT_EQ(find_end_of_text(own).value(), 1u);
  configure(R"({"eos_token": "<|other|>"})");
  const auto wrong = find_end_of_text(own);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ExitCode::kBadInput);
  EXPECT_THAT(wrong.error().message,
              HasSubstr("tokenizer_config.json: eos_token: the tokenizer has no token <|other|>"));
}

}  // namespace
}  // namespace caravan::cli
