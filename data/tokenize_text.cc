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

// Tokens of the window from byte `begin` of the text on, which lies in it.
Result<Tokens> encode_from(const Tokenizer& tokenizer, const Window& window, int64_t begin) {
  Result<Tokens> tokens =
      tokenizer.encode(std::string_view(window.text).substr(static_cast<size_t>(begin - window.begin)));
  if (!tokens) return tokens;
  for (Token& token : *tokens) token.begin += begin;
  return tokens;
}

// As many windows as there are cores, so that each has one to tokenize.
Result<std::vector<Window>> read_windows(WindowReader& reader) {
  std::vector<Window> windows;
  while (windows.size() < std::max(1U, std::thread::hardware_concurrency())) {
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

  Status add(const Window& window, Tokens tokens) {
    std::optional<Seam> seam = Seam{.previous = waiting_.size()};
    if (window.begin < end_) seam = find_seam(waiting_, tokens, (window.begin + end_) / 2);
    if (!seam) {
      const auto [first, begin] = first_shared(window);
      Result<Tokens> aligned = encode_from(tokenizer_, window, begin);
      if (!aligned) return tl::unexpected(aligned.error());
      tokens = std::move(*aligned);
      seam = find_seam(waiting_, tokens, begin).value_or(Seam{.previous = first});
    }
    waiting_.resize(seam->previous);
    if (Status flushed = flush(); !flushed) return flushed;
    waiting_.assign(tokens.begin() + static_cast<std::ptrdiff_t>(seam->next), tokens.end());
    end_ = window.end();
    return {};
  }

  Status flush() { return sink_(waiting_, end_); }
  int64_t end() const { return end_; }

 private:
  struct Cut {
    size_t token = 0;
    int64_t begin = 0;
  };

  // The first token that waits, and the character with which it begins, of those in the window. Read from
  // there on, what is counted from the start of a run, as groups of three digits are, is cut alike.
  Cut first_shared(const Window& window) const {
    for (size_t token = 0; token < waiting_.size(); ++token) {
      const int64_t begin = waiting_[token].begin;
      if (begin >= window.begin &&
          !continues_character(window.text[static_cast<size_t>(begin - window.begin)]))
        return {.token = token, .begin = begin};
    }
    return {.token = waiting_.size(), .begin = end_};
  }

  const Tokenizer& tokenizer_;
  const TokenSink& sink_;
  Tokens waiting_;
  int64_t end_ = 0;
};

}  // namespace

Result<int64_t> tokenize_text(const Tokenizer& tokenizer, TextSource& source, const TokenSink& sink,
                              const WindowSizes& sizes) {
  WindowReader reader(source, sizes, !tokenizer.byte_level());
  WindowJoiner joiner(tokenizer, sink);
  while (true) {
    const Result<std::vector<Window>> windows = read_windows(reader);
    if (!windows) return tl::unexpected(windows.error());
    if (windows->empty()) break;
    std::vector<Result<Tokens>> encoded = encode_all(tokenizer, *windows);
    for (size_t i = 0; i < windows->size(); ++i) {
      if (!encoded[i]) return tl::unexpected(encoded[i].error());
      const Status added = joiner.add((*windows)[i], std::move(*encoded[i]));
      if (!added) return tl::unexpected(added.error());
    }
  }
  if (Status flushed = joiner.flush(); !flushed) return tl::unexpected(flushed.error());
  return joiner.end();
}

}  // namespace caravan::data
