#include "report_text/console_style.h"

#include <fmt/format.h>

namespace caravan {
namespace {

int ansi_code(Colour colour) {
  switch (colour) {
    case Colour::kDim:
      return 2;
    case Colour::kBold:
      return 1;
    case Colour::kGreen:
      return 32;
    case Colour::kYellow:
      return 33;
    case Colour::kRed:
      return 31;
  }
  return 0;
}

}  // namespace

std::string paint(std::string_view text, Colour colour, const ConsoleStyle& style) {
  if (!style.colour) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", ansi_code(colour), text);
}

}  // namespace caravan
