#include "data/text_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/utf8.h"

namespace caravan::data {
namespace {

constexpr size_t kLongestCharacter = 4;
constexpr size_t kAgreement = 32;  // tokens in a row, the seam in their middle

// The start of the character that holds the byte at `position`.
size_t character_start(const std::string& text, size_t position) {
  while (position > 0 && position < text.size() && continues_character(text[position])) --position;
  return position;
}

}  // namespace

WindowReader::WindowReader(TextSource& source, const WindowSizes& sizes, bool utf8)
    : source_(source), sizes_(sizes), utf8_(utf8) {}

Result<std::optional<Window>> WindowReader::next() {
  if (ended_) return std::nullopt;
  Window window{.begin = next_begin_, .text = std::exchange(carried_, {})};
  const size_t carried = window.text.size();
  window.text.resize(carried + sizes_.window_bytes);
  const Result<size_t> count = source_.read(std::span(window.text).subspan(carried));
  if (!count) return tl::unexpected(count.error());
  ended_ = *count < sizes_.window_bytes;
  window.text.resize(carried + *count);

  if (utf8_) {
    if (Status cut = cut_between_characters(window); !cut) return tl::unexpected(cut.error());
  }
  next_begin_ = window.end() - static_cast<int64_t>(overlap_);
  return *count > 0 ? std::optional(std::move(window)) : std::nullopt;
}

// Leaves the overlap, and the beginning of a character whose end is not there yet, to the next window.
Status WindowReader::cut_between_characters(Window& window) {
  const size_t whole = first_invalid_utf8(window.text).value_or(window.text.size());
  const size_t rest = window.text.size() - whole;
  if (rest > 0 && (ended_ || rest >= kLongestCharacter)) {
    return bad_input(
        fmt::format("{}: not UTF-8 at byte {}; convert the text (for example with iconv), or use --tokenizer "
                    "byte",
                    source_.name(), window.begin + static_cast<int64_t>(whole)));
  }
  const size_t overlap_begin = character_start(window.text, whole - std::min(whole, sizes_.overlap_bytes));
  overlap_ = whole - overlap_begin;
  carried_ = window.text.substr(overlap_begin);
  window.text.resize(whole);
  return {};
}

std::optional<Seam> find_seam(std::span<const Token> previous, std::span<const Token> next, int64_t from) {
  const auto first_at = [from](std::span<const Token> tokens) {
    const auto before = [](const Token& token, int64_t position) { return token.begin < position; };
    return static_cast<size_t>(std::lower_bound(tokens.begin(), tokens.end(), from, before) - tokens.begin());
  };
  Seam at{.previous = first_at(previous), .next = first_at(next)};
  size_t agreeing = 0;
  while (at.previous < previous.size() && at.next < next.size()) {
    const Token& left = previous[at.previous];
    const Token& right = next[at.next];
    agreeing = left == right ? agreeing + 1 : 0;
    // Behind is the one that begins first.
    if (left.begin <= right.begin) ++at.previous;
    if (right.begin <= left.begin) ++at.next;
    if (agreeing == kAgreement) return Seam{at.previous - kAgreement / 2, at.next - kAgreement / 2};
  }
  return std::nullopt;
}

}  // namespace caravan::data
