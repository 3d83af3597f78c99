// How text may look on the stream it goes to: colour, a progress bar that is redrawn, the width of a line.
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

enum class Colour { kDim, kBold, kGreen, kYellow, kRed };

std::string paint(std::string_view text, Colour colour, const ConsoleStyle& style);

}  // namespace caravan
