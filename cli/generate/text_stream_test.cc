#include "cli/generate/text_stream.h"

#include <gmock/gmock.h>

namespace caravan::cli {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces(const data::Tokenizer& tokenizer, const std::vector<uint32_t>& tokens) {
  TextStream stream(tokenizer, {});
  std::vector<std::string> pieces;
  for (const uint32_t token : tokens) pieces.push_back(stream.add(token).value());
  pieces.push_back(stream.finish().value());
  return pieces;
}

std::vector<uint32_t> bytes_of(std::string_view text) {
  std::vector<uint32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

TEST(TextStream, BytesComeAsWholeCharacters) {
  const data::ByteTokenizer bytes;
  EXPECT_THAT(pieces(bytes, bytes_of("a\xC3\xA9z")), ElementsAre("a", "", "\xC3\xA9", "z", ""));
  EXPECT_THAT(pieces(bytes, bytes_of("\xF0\x9F\x90\xAB")), ElementsAre("", "", "", "\xF0\x9F\x90\xAB", ""));
}

TEST(TextStream, BytesThatNeverBecomeACharacterAreReplaced) {
  const data::ByteTokenizer bytes;
  std::string all;
  for (const std::string& piece : pieces(bytes, bytes_of("a\xFF"
                                                         "bcd\xC3")))
    all += piece;
  EXPECT_EQ(all,
            "a\xEF\xBF\xBD"
            "bcd\xEF\xBF\xBD");
}

// As SentencePiece: the first word of a text has no space before it, all others have.
class WordTokenizer final : public data::Tokenizer {
 public:
  int64_t vocabulary() const override { return 3; }
  bool byte_level() const override { return false; }
  Result<std::vector<data::Token>> encode(std::string_view) const override { return bad_input("not asked"); }
  Result<std::string> decode(std::span<const uint32_t> ids) const override {
    std::string text;
    for (const uint32_t id : ids) {
      if (!text.empty()) text.push_back(' ');
      text.push_back("abc"[id]);
    }
    return text;
  }
};

TEST(TextStream, ATokenMeansWhatItMeansBehindTheOthers) {
  const WordTokenizer words;
  const std::vector<uint32_t> prompt{0, 1};
  TextStream stream(words, prompt);
  EXPECT_EQ(stream.add(2).value(), " c");
  std::string all;
  for (int i = 0; i < 30; ++i) all += stream.add(static_cast<uint32_t>(i % 3)).value();
  EXPECT_EQ(all.substr(0, 8), " a b c a");
  EXPECT_EQ(all.size(), 60u);
}

TEST(TextStream, ATokenThatTheTokenizerDoesNotHaveIsAnError) {
  const data::ByteTokenizer bytes;
  TextStream stream(bytes, {});
  const auto text = stream.add(300);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "token 300 is no byte");
}

}  // namespace
}  // namespace caravan::cli
