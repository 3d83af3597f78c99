#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/environment.h"

namespace caravan::cli {

ConsoleStyle style_for(const TerminalFacts& facts) {
  constexpr std::size_t kUsualWidth = 80;
  if (!facts.is_terminal) return {};
  const bool capable = facts.term != "dumb";
  return {.colour = capable && facts.no_color.empty(),
          .progress_bar = capable,
          .width = facts.columns > 0 ? facts.columns : kUsualWidth};
}

TerminalFacts terminal_facts(int descriptor) {
  TerminalFacts facts{.is_terminal = isatty(descriptor) == 1,
                      .no_color = environment_variable("NO_COLOR"),
                      .term = environment_variable("TERM")};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) facts.columns = size.ws_col;
  return facts;
}

int text_width(int descriptor) {
  constexpr int kOfNoTerminal = 120;
  constexpr int kNarrowest = 60;
  constexpr int kWidest = 160;
  int width = std::atoi(environment_variable("COLUMNS").c_str());
  if (width <= 0) width = static_cast<int>(terminal_facts(descriptor).columns);
  return width <= 0 ? kOfNoTerminal : std::clamp(width, kNarrowest, kWidest);
}

int output_width() {
  return text_width(STDOUT_FILENO);
}

}  // namespace caravan::cli
