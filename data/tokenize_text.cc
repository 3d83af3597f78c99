#include "data/tokenize_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace caravan::data {
namespace {

using Tokens = std::vector<Token>;

constexpr int kMostThreads = 32;

// Tokens of the window from byte `begin` of the text on, which lies in it.
Result<Tokens> encode_from(const Tokenizer& tokenizer, const Window& window, int64_t begin) {
  Result<Tokens> tokens =
      tokenizer.encode(std::string_view(window.text).substr(static_cast<size_t>(begin - window.begin)));
  if (!tokens) return tokens;
  for (Token& token : *tokens) token.begin += begin;
  return tokens;
}

// So many, or those that are left.
Result<std::vector<Window>> read_windows(WindowReader& reader, int count) {
  std::vector<Window> windows;
  while (std::ssize(windows) < count) {
    Result<std::optional<Window>> window = reader.next();
    if (!window) return tl::unexpected(window.error());
    if (!*window) break;
    windows.push_back(std::move(**window));
  }
  return windows;
}

std::vector<Result<Tokens>> encode_all(const Tokenizer& tokenizer, const std::vector<Window>& windows) {
  std::vector<Result<Tokens>> encoded(windows.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < windows.size(); ++i) {
    threads.emplace_back([&, i] { encoded[i] = encode_from(tokenizer, windows[i], windows[i].begin); });
  }
  threads.clear();  // waits for all
  return encoded;
}

// Joins the tokens of the windows; those of the last one wait until the next one says where its part begins.
class WindowJoiner {
 public:
  WindowJoiner(const Tokenizer& tokenizer, const TokenSink& sink) : tokenizer_(tokenizer), sink_(sink) {}

  Status add(Window window, Tokens tokens) {
    Result<Seam> seam = Seam{.previous = waiting_.size()};
    if (window.begin < end()) seam = go_over(window, tokens);
    if (!seam) return tl::unexpected(seam.error());
    waiting_.resize(seam->previous);
    if (Status flushed = flush(); !flushed) return flushed;
    waiting_.assign(tokens.begin() + static_cast<std::ptrdiff_t>(seam->next), tokens.end());
    last_ = std::move(window);
    return {};
  }

  Status flush() { return sink_(waiting_, end()); }
  int64_t end() const { return last_.end(); }

 private:
  struct Cut {
    size_t token = 0;
    int64_t begin = 0;
  };

  // The tokens become others where they agree with none that wait.
  Result<Seam> go_over(const Window& window, Tokens& tokens) const {
    if (const auto seam = find_seam(waiting_, tokens, (window.begin + end()) / 2)) return *seam;
    const Cut cut = first_shared(window);
    Result<Tokens> aligned = encode_from(tokenizer_, window, cut.begin);
    if (!aligned) return tl::unexpected(aligned.error());
    auto seam = find_seam(waiting_, *aligned, cut.begin);
    if (!seam) {
      const Result<std::optional<Seam>> grown = grow(window, tokens);
      if (!grown) return tl::unexpected(grown.error());
      if (*grown) return **grown;
    }
    tokens = std::move(*aligned);
    return seam.value_or(Seam{.previous = cut.token});
  }

  // Each time with twice as much of the text that the last window has too.
  Result<std::optional<Seam>> grow(const Window& window, Tokens& tokens) const {
    for (int64_t shared = 2 * (end() - window.begin);; shared *= 2) {
      const Window longer = with_text_before(window, end() - shared);
      Result<Tokens> encoded = encode_from(tokenizer_, longer, longer.begin);
      if (!encoded) return tl::unexpected(encoded.error());
      tokens = std::move(*encoded);
      const auto seam = find_seam(waiting_, tokens, longer.begin);
      if (seam || longer.begin == last_.begin) return seam;
    }
  }

  // From a character of the last window on, at that byte or before it.
  Window with_text_before(const Window& window, int64_t begin) const {
    auto from = static_cast<size_t>(std::max<int64_t>(0, begin - last_.begin));
    while (from > 0 && continues_character(last_.text[from])) --from;
    const auto until = static_cast<size_t>(window.begin - last_.begin);
    return {.begin = last_.begin + static_cast<int64_t>(from),
            .text = last_.text.substr(from, until - from) + window.text};
  }

  // The first token that waits, and the character with which it begins, of those in the window. Read from
  // there on, what is counted from the start of a run, as groups of three digits are, is cut alike.
  Cut first_shared(const Window& window) const {
    for (size_t token = 0; token < waiting_.size(); ++token) {
      const int64_t begin = waiting_[token].begin;
      if (begin >= window.begin &&
          !continues_character(window.text[static_cast<size_t>(begin - window.begin)]))
        return {.token = token, .begin = begin};
    }
    return {.token = waiting_.size(), .begin = end()};
  }

  const Tokenizer& tokenizer_;
  const TokenSink& sink_;
  Tokens waiting_;
  Window last_;
};

}  // namespace

int tokenizing_threads(int processors) {
  return std::clamp(processors, 1, kMostThreads);
}

Result<int64_t> tokenize_text(const Tokenizer& tokenizer, TextSource& source, const TokenSink& sink,
                              const WindowSizes& sizes, int threads) {
  WindowReader reader(source, sizes, !tokenizer.byte_level());
  WindowJoiner joiner(tokenizer, sink);
  while (true) {
    Result<std::vector<Window>> windows = read_windows(reader, threads);
    if (!windows) return tl::unexpected(windows.error());
    if (windows->empty()) break;
    std::vector<Result<Tokens>> encoded = encode_all(tokenizer, *windows);
    for (size_t i = 0; i < windows->size(); ++i) {
      if (!encoded[i]) return tl::unexpected(encoded[i].error());
      const Status added = joiner.add(std::move((*windows)[i]), std::move(*encoded[i]));
      if (!added) return tl::unexpected(added.error());
    }
  }
  if (Status flushed = joiner.flush(); !flushed) return tl::unexpected(flushed.error());
  return joiner.end();
}

}  // namespace caravan::data
