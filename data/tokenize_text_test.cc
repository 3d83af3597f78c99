#include "data/tokenize_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>

#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"

namespace caravan::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Depends on the text around a token as real tokenizers do: a space belongs to the word after it, every third
// letter begins a token (counted from the start of its word), and the first token of a text is marked.
class WordTokenizer final : public Tokenizer {
 public:
  int64_t vocabulary() const override { return 1 << 20; }
  bool byte_level() const override { return false; }
  Result<std::vector<Token>> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    size_t letters = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool space = text[i] == ' ';
      if (i == 0 || space || letters % 3 == 0)
        tokens.push_back({.id = i == 0 ? 1U : 0U, .begin = static_cast<int64_t>(i)});
      tokens.back().id = (tokens.back().id * 31 + static_cast<uint8_t>(text[i])) % (1 << 20);
      letters = space ? 1 : letters + 1;
    }
    return tokens;
  }
  Result<std::string> decode(std::span<const uint32_t>) const override {
    return bad_input("ids are sums, and have no way back");
  }
};

// As SentencePiece's, which put a space before what they are given: it counts among the letters of the first
// word.
class SpacedWordTokenizer final : public Tokenizer {
 public:
  int64_t vocabulary() const override { return words_.vocabulary(); }
  bool byte_level() const override { return false; }
  Result<std::vector<Token>> encode(std::string_view text) const override {
    auto tokens = words_.encode(" " + std::string(text));
    if (!tokens) return tokens;
    for (Token& token : *tokens) token.begin = std::max<int64_t>(0, token.begin - 1);
    return tokens;
  }
  Result<std::string> decode(std::span<const uint32_t> ids) const override { return words_.decode(ids); }

 private:
  WordTokenizer words_;
};

// Of bytes; waits until so many texts are tokenized at once, and knows how many were.
class CrowdedTokenizer final : public Tokenizer {
 public:
  explicit CrowdedTokenizer(int wanted) : wanted_(wanted) {}
  int64_t vocabulary() const override { return bytes_.vocabulary(); }
  bool byte_level() const override { return true; }
  Result<std::vector<Token>> encode(std::string_view text) const override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(10), [this] { return most_ >= wanted_; });
    --inside_;
    return bytes_.encode(text);
  }
  Result<std::string> decode(std::span<const uint32_t> ids) const override { return bytes_.decode(ids); }
  int most() const { return most_; }

 private:
  ByteTokenizer bytes_;
  const int wanted_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int inside_ = 0;
  mutable int most_ = 0;
};

std::string random_words(size_t bytes, const std::vector<std::string>& letters) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < bytes) text += random() % 6 == 0 ? " " : letters[random() % letters.size()];
  return text;
}

Result<std::vector<Token>> tokenize(const Tokenizer& tokenizer, const std::string& text,
                                    const WindowSizes& sizes, int threads = 2) {
  const test::TemporaryFolder folder;
  auto source = TextSource::open(folder.write("text", text));
  std::vector<Token> tokens;
  const auto bytes = tokenize_text(
      tokenizer, *source,
      [&](std::span<const Token> part, int64_t) {
        tokens.insert(tokens.end(), part.begin(), part.end());
        return Status{};
      },
      sizes, threads);
  if (!bytes) return tl::unexpected(bytes.error());
  EXPECT_EQ(*bytes, static_cast<int64_t>(text.size()));
  return tokens;
}

TEST(TokenizeText, GivesTheTokensOfTheWholeTextWhateverTheWindows) {
  const WordTokenizer tokenizer;
  const std::string text = random_words(20'000, {"a", "b", "é", "水", "🦙"});
  const auto whole = tokenizer.encode(text);
  for (const size_t window : {1000, 1001, 1002, 1003, 4096, 19'999, 20'000, 100'000}) {
    const auto tokens = tokenize(tokenizer, text, {.window_bytes = window, .overlap_bytes = 600});
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(*tokens, *whole) << window << " bytes";
  }
}

TEST(TokenizeText, AByteIsAToken) {
  std::string text(5000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const auto tokens = tokenize(ByteTokenizer(), text, {.window_bytes = 999, .overlap_bytes = 100});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(*tokens, *ByteTokenizer().encode(text));
}

// Groups of three, as Llama 3 takes them, counted from the start of the run; no window but the first begins
// with one.
TEST(TokenizeText, ARunOfDigitsLongerThanAWindowIsCutAsInOnePass) {
  const WordTokenizer tokenizer;
  std::string text = random_words(500, {"a", "b"}) + " ";
  for (size_t i = 0; i < 20'000; ++i) text += static_cast<char>('0' + i * i % 7);
  text += random_words(5000, {"a", "é"});
  const auto whole = tokenizer.encode(text);
  for (const size_t window : {1000, 1001, 1002, 4096}) {
    const auto tokens = tokenize(tokenizer, text, {.window_bytes = window, .overlap_bytes = 600});
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_TRUE(*tokens == *whole) << window << " bytes";
  }
}

// Wherever it lies, and though every window that begins in it begins a word.
TEST(TokenizeText, ARunOfOneCharacterIsCutAsInOnePassWhereTextsGetASpace) {
  const SpacedWordTokenizer tokenizer;
  for (size_t before = 0; before < 3000; before += 77) {
    const std::string text =
        random_words(before, {"a", "b"}) + " " + std::string(800, 'x') + random_words(3000, {"a", "b", "é"});
    const auto whole = tokenizer.encode(text);
    const auto tokens = tokenize(tokenizer, text, {.window_bytes = 1200, .overlap_bytes = 400});
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_TRUE(*tokens == *whole) << "behind " << before << " bytes";
  }
}

TEST(TokenizeText, AsManyThreadsAsAreGivenTokenizeAtOnce) {
  const CrowdedTokenizer tokenizer(3);
  const std::string text(700, 'x');
  ASSERT_TRUE(tokenize(tokenizer, text, {.window_bytes = 100}, 3));
  EXPECT_EQ(tokenizer.most(), 3);
}

TEST(TokenizeText, MoreThreadsThanOneReaderKeepsAtWorkAreNone) {
  EXPECT_EQ(tokenizing_threads(1), 1);
  EXPECT_EQ(tokenizing_threads(8), 8);
  EXPECT_EQ(tokenizing_threads(256), 32);
}

TEST(TokenizeText, ATextOnWhichNoTwoWindowsAgreeLosesNothing) {
  // Without a space the tokens of a window hang on where it begins; 100 is no multiple of 3.
  const std::string text(1000, 'x');
  const auto tokens = tokenize(WordTokenizer(), text, {.window_bytes = 200, .overlap_bytes = 100});
  ASSERT_TRUE(tokens);
  int64_t end = 0;
  for (const Token& token : *tokens) {
    EXPECT_GE(token.begin, end);
    EXPECT_LE(token.begin, end + 3);
    end = token.begin;
  }
  EXPECT_GE(tokens->size(), 334U);
}

TEST(TokenizeText, AnEmptyTextHasNoTokens) {
  const auto tokens = tokenize(WordTokenizer(), "", {});
  ASSERT_TRUE(tokens);
  EXPECT_TRUE(tokens->empty());
}

TEST(TokenizeText, WhatIsNotUtf8IsRefusedWithItsPlace) {
  const WindowSizes sizes{.window_bytes = 64, .overlap_bytes = 16};
  for (const size_t place : {0, 1, 62, 63, 64, 65, 127, 198, 199}) {
    for (const char* bytes : {"\xff", "\xc3", "\xf0\x9f\xa6"}) {
      std::string text(200, 'x');
      text.replace(place, std::min(std::string(bytes).size(), 200 - place), bytes);
      const auto tokens = tokenize(WordTokenizer(), text, sizes);
      ASSERT_FALSE(tokens) << place;
      EXPECT_EQ(tokens.error().code, ExitCode::kBadInput);
      EXPECT_THAT(tokens.error().message, HasSubstr("not UTF-8 at byte " + std::to_string(place) + ";"));
    }
  }
}

TEST(TokenizeText, AStopEndsItBetweenReads) {
  const test::TemporaryFolder folder;
  const UniqueFd stop(::eventfd(1, EFD_CLOEXEC));
  auto source = TextSource::open(folder.write("text", "words"), stop.get());
  ASSERT_TRUE(source);
  const auto bytes = tokenize_text(ByteTokenizer(), *source, [](auto, auto) { return Status{}; });
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ExitCode::kInterrupted);
}

TEST(TokenizeText, AnErrorOfTheSinkEndsIt) {
  const test::TemporaryFolder folder;
  auto source = TextSource::open(folder.write("text", "words"));
  const auto bytes =
      tokenize_text(ByteTokenizer(), *source, [](auto, auto) -> Status { return failure("full"); });
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, "full");
}

TEST(TextSource, WhatCannotBeReadIsRefusedByName) {
  const test::TemporaryFolder folder;
  for (const std::string& path : {folder.path("missing.txt"), folder.path("")}) {
    const auto source = TextSource::open(path);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, ExitCode::kBadInput);
    EXPECT_THAT(source.error().message, AllOf(HasSubstr(path), HasSubstr("cannot read")));
  }
}

}  // namespace
}  // namespace caravan::data
