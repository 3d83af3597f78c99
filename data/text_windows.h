// Cuts a text of any size into windows that overlap, and sews the tokens of neighbouring windows together.
//
// A tokenizer looks at the text around a token, so that a cut may change the tokens near it. Windows
// therefore share some text, and the tokens of two windows are joined inside it, where both agree: the result
// is the one of the whole text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "data/text_source.h"
#include "data/tokenizer.h"

namespace caravan::data {

struct WindowSizes {
  size_t window_bytes = 256 << 10;  // of text that no other window brings
  size_t overlap_bytes = 4 << 10;
};

struct Window {
  int64_t begin = 0;  // in bytes from the start of the text
  std::string text;
  int64_t end() const { return begin + static_cast<int64_t>(text.size()); }
};

// Whether a byte of UTF-8 is another one than the first of its character.
inline bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

class WindowReader {
 public:
  // utf8: windows overlap and begin and end between characters, and a text that is not UTF-8 is an error that
  // says where (exit code 2). Without it they do not overlap.
  WindowReader(TextSource& source, const WindowSizes& sizes, bool utf8);

  // Absent after the last window.
  Result<std::optional<Window>> next();

 private:
  Status cut_between_characters(Window& window);

  TextSource& source_;
  WindowSizes sizes_;
  bool utf8_;
  bool ended_ = false;
  int64_t next_begin_ = 0;
  size_t overlap_ = 0;   // how much of the next window was in the one before
  std::string carried_;  // what is already there of the next window
};

// Where to go over from `previous` to `next`: both have the same tokens on both sides of the seam.
struct Seam {
  size_t previous = 0;  // tokens to keep of the previous window
  size_t next = 0;      // tokens to leave out of the next one
};

// Looks from byte `from` on; absent if the windows never agree for long enough.
std::optional<Seam> find_seam(std::span<const Token> previous, std::span<const Token> next, int64_t from);

}  // namespace caravan::data
