#include "cli/generate/text_stream.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/data/tokenizer_json.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"

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

std::vector<uint32_t> ids_of(const data::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<data::Token> tokens = tokenizer.encode(text).value();
  std::vector<uint32_t> ids;
  for (const data::Token& token : tokens) ids.push_back(token.id);
  return ids;
}

// The text of all tokens, of which so many are the prompt; half a character is never shown.
std::string text_in_pieces(const data::Tokenizer& tokenizer, std::span<const uint32_t> tokens,
                           std::size_t prompt) {
  std::string text = tokenizer.decode(tokens.first(prompt)).value();
  TextStream stream(tokenizer, tokens.first(prompt));
  for (const uint32_t token : tokens.subspan(prompt)) {
    const std::string piece = stream.add(token).value();
    EXPECT_EQ(piece.find("\xEF\xBF\xBD"), std::string::npos) << "half a character after '" << text << "'";
    text += piece;
  }
  return text + stream.finish().value();
}

// Characters of one to four bytes, some of which the tokenizer has in pieces only.
constexpr char kText[] =
    "In the beginning \xC3\xA9t\xC3\xA9, \xE4\xB8\xAD\xE6\x96\x87 and \xF0\x9F\x90\xAB.\n";

TEST(TextStream, PiecesOfCharactersComeAsWholeOnes) {
  const auto tokenizer =
      TokenizerJson::open(test::source_folder() + "/tests/data/tiny_tokenizer.json").value();
  const std::vector<uint32_t> tokens = ids_of(tokenizer, kText);
  ASSERT_GT(tokens.size(), 10u);
  for (const std::size_t prompt : {0u, 1u, 3u}) EXPECT_EQ(text_in_pieces(tokenizer, tokens, prompt), kText);
}

// As Llama 2's: what it has no token for is spelled in bytes, which are replaced all together when one of
// those in a row is wrong.
class SpelledInBytes : public testing::Test {
 protected:
  static TokenizerJson make() {
    std::string vocabulary = R"("<unk>": 0, "\u2581": 1, "a": 2, "b": 3)";
    for (int byte = 0; byte < 256; ++byte)
      vocabulary += fmt::format(R"(, "<0x{:02X}>": {})", byte, kFirstByte + byte);
    const test::TemporaryFolder folder;
    folder.write("tokenizer.json", fmt::format(R"({{
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "post_processor": null,
        "normalizer": {{"type": "Sequence", "normalizers": [{{"type": "Prepend", "prepend": "\u2581"}},
            {{"type": "Replace", "pattern": {{"String": " "}}, "content": "\u2581"}}]}},
        "pre_tokenizer": null,
        "decoder": {{"type": "Sequence", "decoders": [
            {{"type": "Replace", "pattern": {{"String": "\u2581"}}, "content": " "}}, {{"type": "ByteFallback"}},
            {{"type": "Fuse"}}, {{"type": "Strip", "content": " ", "start": 1, "stop": 0}}]}},
        "model": {{"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "vocab": {{{}}}, "merges": []}}}})",
                                               vocabulary));
    return TokenizerJson::open(folder.path("tokenizer.json")).value();
  }

  static constexpr int kFirstByte = 4;
  const TokenizerJson tokenizer_ = make();
};

TEST_F(SpelledInBytes, CharactersInARowAreCutOnlyBetweenThem) {
  const std::string text =
      "a b " +
      std::string("\xE4\xB8\xAD\xE6\x96\x87\xF0\x9F\x90\xAB\xC3\xA9\xE4\xB8\xAD\xE6\x96\x87\xE4\xB8\xAD") +
      " a";
  const std::vector<uint32_t> tokens = ids_of(tokenizer_, text);
  ASSERT_EQ(tokenizer_.decode(tokens).value(), text);
  ASSERT_EQ(tokens.size(), 7u + 21u) << "each of those bytes is a token";
  for (std::size_t prompt = 0; prompt < tokens.size(); ++prompt) {
    const std::string before = tokenizer_.decode(std::span(tokens).first(prompt)).value();
    if (before.find("\xEF\xBF\xBD") != std::string::npos) continue;  // a prompt is a text
    EXPECT_EQ(text_in_pieces(tokenizer_, tokens, prompt), text) << prompt;
  }
}

TEST_F(SpelledInBytes, AWrongByteIsReplacedAndNotWhatWasShown) {
  const auto byte = [](int value) { return static_cast<uint32_t>(kFirstByte + value); };
  TextStream stream(tokenizer_, {});
  std::string text;
  for (const uint32_t token : {byte(0xE4), byte(0xB8), byte(0xAD), byte(0xFF), 2u, 3u})
    text += stream.add(token).value();
  EXPECT_EQ(text + stream.finish().value(),
            "\xE4\xB8\xAD\xEF\xBF\xBD"
            "ab");
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
