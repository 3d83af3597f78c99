// The terminal that a command writes to: how text may look there, and how wide it is.
//
// A stream that is not a terminal gets plain lines of any length. NO_COLOR (any value but the empty one) and
// TERM=dumb turn colour off; the latter also the progress bar.
#pragma once

#include <cstddef>
#include <string>

#include "report_text/console_style.h"

namespace caravan::cli {

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

// Of a line of text that is written there: what COLUMNS says, else the terminal, within what can be read.
int text_width(int descriptor);

// That of standard output.
int output_width();

}  // namespace caravan::cli
