// How text may look on the stream it goes to: colour, a progress bar that is redrawn, the width of a line.
//
// A stream that is not a terminal gets plain lines of any length. NO_COLOR (any value but the empty one) and
// TERM=dumb turn colour off; the latter also the progress bar.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace caravan {

struct ConsoleStyle {
  bool colour = false;
  bool progress_bar = false;
  std::size_t width = 0;  // columns; 0: unlimited
};

// What the environment says, as values.
struct TerminalFacts {
  bool is_terminal = false;
  std::string no_color = {};
  std::string term = {};
  std::size_t columns = 0;  // 0: unknown
};

ConsoleStyle style_for(const TerminalFacts& facts);

// Asks the environment and the descriptor.
TerminalFacts terminal_facts(int descriptor);

// Of what is written to standard output: what COLUMNS says, else the terminal, within what can be read.
int output_width();

enum class Colour { kDim, kBold, kGreen, kYellow, kRed };

std::string paint(std::string_view text, Colour colour, const ConsoleStyle& style);

}  // namespace caravan
