#include "worker/trainer/generate/prompt.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <system_error>

#include "common/utf8.h"

namespace caravan::trainer {
namespace {

constexpr std::size_t kShownBytes = 40;  // of a word

Result<int64_t> token_of(const std::string& word, int64_t vocabulary) {
  const char* const word_end = word.data() + word.size();
  int64_t token = 0;
  const auto [end, error] = std::from_chars(word.data(), word_end, token);
  if (error != std::errc() || end != word_end)
    return bad_input(
        fmt::format("the prompt: '{}' is no number of a token", readable_line(word, kShownBytes)));
  if (token < 0 || token >= vocabulary) {
    return bad_input(fmt::format(
        "the prompt: token {} is not in the model's vocabulary of {}; use the tokenizer that it was "
        "trained with",
        token, vocabulary));
  }
  return token;
}

}  // namespace

Result<std::vector<int64_t>> tokens_of(const std::string& prompt, int64_t vocabulary) {
  std::vector<int64_t> tokens;
  std::istringstream words(prompt);
  for (std::string word; words >> word;) {
    const Result<int64_t> token = token_of(word, vocabulary);
    if (!token) return tl::unexpected(token.error());
    tokens.push_back(*token);
  }
  if (tokens.empty()) return bad_input("the prompt: must have at least one token");
  return tokens;
}

}  // namespace caravan::trainer
