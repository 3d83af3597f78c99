#include "common/utf8.h"

#include <algorithm>

namespace caravan {
namespace {

struct Lead {
  std::size_t length;
  // Bounds of the second byte: they exclude overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned char second_minimum;
  unsigned char second_maximum;
};

Lead classify(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead lead = classify(byte(0));
  if (lead.length > text.size()) return 0;
  if (lead.length > 1 && (byte(1) < lead.second_minimum || byte(1) > lead.second_maximum)) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return lead.length;
}

std::size_t utf8_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

bool is_control_character(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() > 1 || character == "\n" || character == "\t") return false;
  return byte(0) < 0x20 || byte(0) == 0x7F;
}

std::string readable(std::string_view text, std::size_t most_bytes) {
  constexpr std::string_view kMore = "...";
  std::string shown;
  std::size_t cut = 0;  // where "..." still has room
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    text.remove_prefix(character.size());
    if (length == 0 || is_control_character(character)) continue;
    if (shown.size() + length > most_bytes) return shown.substr(0, cut).append(kMore);
    shown += character;
    if (shown.size() + kMore.size() <= most_bytes) cut = shown.size();
  }
  return shown;
}

std::string readable_line(std::string_view text, std::size_t most_bytes) {
  std::string line = readable(text, most_bytes);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace caravan
