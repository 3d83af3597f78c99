#include "data/text_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/utf8.h"

namespace caravan::data {
namespace {

constexpr size_t kLongestCharacter = 4;
constexpr size_t kAgreement = 32;  // tokens in a row, the seam in their middle

bool inside_character(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

}  // namespace

WindowReader::WindowReader(TextSource& source, const WindowSizes& sizes, bool utf8)
    : source_(source), sizes_(sizes), utf8_(utf8) {}

Result<std::optional<Window>> WindowReader::next() {
  if (ended_) return std::nullopt;
  Window window{.begin = position_, .text = std::move(carried_)};
  const size_t carried = window.text.size();
  window.text.resize(std::max(sizes_.window_bytes, carried + kLongestCharacter));
  const Result<size_t> count = source_.read(std::span(window.text).subspan(carried));
  if (!count) return tl::unexpected(count.error());
  ended_ = carried + *count < window.text.size();
  window.text.resize(carried + *count);

  carried_.clear();
  if (utf8_) {
    if (Status split = split_at_last_character(window, ended_); !split) return tl::unexpected(split.error());
  }
  if (window.text.size() == overlap_) return std::nullopt;
  if (utf8_ && !ended_) carry_overlap(window);
  position_ = window.end() - static_cast<int64_t>(overlap_);
  return window;
}

}  // namespace caravan::data
