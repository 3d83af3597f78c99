// Cuts a text of any size into windows that overlap, and sews the tokens of neighbouring windows together.
//
// A tokenizer looks at the text around a token, so that a cut may change the tokens near it. Windows therefore share some
// text, and the tokens of two windows are joined inside it, where both agree: the result is the one of the whole text.
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
  size_t window_bytes = 256 << 10;
  size_t overlap_bytes = 4 << 10;  // less than the window
};

struct Window {
  int64_t begin = 0;  // in bytes from the start of the text
  std::string text;
  int64_t end() const { return begin + static_cast<int64_t>(text.size()); }
};

class WindowReader {
 public:
  // utf8: windows begin and end between characters, and other bytes are an error that says where (exit code 2).
  // Without it, windows do not overlap.
  WindowReader(TextSource& source, const WindowSizes& sizes, bool utf8);

  // Absent after the last window. Every window but the first begins with the last bytes of the one before it.
  Result<std::optional<Window>> next();

 private:
  Status split_at_last_character(Window& window, bool last);

  TextSource& source_;
  WindowSizes sizes_;
  bool utf8_;
  int64_t position_ = 0;     // of `carried_` in the text
  std::string carried_;      // overlap, and the beginning of a character that was cut
  size_t overlap_ = 0;       // how much of it was in the window before
  bool ended_ = false;
};

// Where to go over from `previous` to `next`: both have the same tokens on both sides of the seam.
struct Seam {
  size_t previous = 0;  // tokens to keep of the previous window
  size_t next = 0;      // tokens to leave out of the next one
};

// Looks from byte `from` on; absent if the windows never agree for long enough.
std::optional<Seam> find_seam(std::span<const Token> previous, std::span<const Token> next, int64_t from);

}  // namespace caravan::data
