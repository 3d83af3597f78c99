#include "cli/generate/text_stream.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "common/utf8.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
// Tokens on which the text of the next one may depend.
constexpr std::size_t kContext = 8;
// Tokens of one character: each stands for a byte at least.
constexpr std::size_t kMostOfOneCharacter = 4;

std::string with_replacements(std::string_view text) {
  std::string whole;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    whole += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return whole;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Whether a character at the end of these bytes may lack its last bytes.
bool is_cut(std::string_view text) {
  if (text.ends_with(kReplacement)) return true;
  const auto invalid = first_invalid_utf8(text);
  return invalid && text.size() - *invalid < kMostOfOneCharacter;
}

// What of a text stays as it is when more bytes come.
std::string_view without_cut_end(std::string_view text) {
  while (text.ends_with(kReplacement)) text.remove_suffix(kReplacement.size());
  return text;
}

}  // namespace

// Token by token, so that it is known where characters end. An error comes again with the next token.
TextStream::TextStream(const data::Tokenizer& tokenizer, std::span<const uint32_t> prompt)
    : tokenizer_(tokenizer) {
  for (const uint32_t token : prompt) (void)add(token);
  (void)finish();
}

// Of the tokens that were not shown: what they add to the text of those before.
Result<std::string> TextStream::new_text() const {
  auto before = tokenizer_.decode(std::span(ids_).first(shown_));
  if (!before) return before;
  auto all = tokenizer_.decode(ids_);
  if (!all) return all;
  // Tokenizers that spell bytes replace all bytes in a row when one is wrong. What was shown stays as it is.
  if (!all->starts_with(without_cut_end(*before))) return tokenizer_.decode(std::span(ids_).subspan(shown_));
  // Where a character was not whole before, it is another one now.
  auto same = static_cast<std::size_t>(std::ranges::mismatch(*before, *all).in2 - all->begin());
  while (same > 0 && same < before->size() && is_continuation((*all)[same])) --same;
  return all->substr(same);
}

// Only where a piece begins may the text be cut: what is left of a character is none.
std::string TextStream::take(const std::string& text) {
  pieces_.push_back(shown_);
  shown_ = ids_.size();
  while (pieces_.size() > 1 && shown_ - pieces_[1] >= kContext) pieces_.erase(pieces_.begin());
  const std::size_t cut = pieces_.front();
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(cut));
  for (std::size_t& piece : pieces_) piece -= cut;
  shown_ -= cut;
  return with_replacements(text);
}

Result<std::string> TextStream::add(uint32_t token) {
  ids_.push_back(token);
  auto text = new_text();
  if (!text) return text;
  const bool waits = is_cut(*text) && ids_.size() - shown_ < kMostOfOneCharacter;
  return waits ? std::string() : take(*text);
}

Result<std::string> TextStream::finish() {
  if (shown_ == ids_.size()) return std::string();
  auto text = new_text();
  if (!text) return text;
  return take(*text);
}

}  // namespace caravan::cli
