#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>

#include <cstdlib>
#include <utility>

#include "common/unique_fd.h"

namespace caravan::cli {
namespace {

TEST(Terminal, OnlyATerminalGetsColourAndABar) {
  EXPECT_FALSE(style_for({.is_terminal = false, .term = "xterm", .columns = 100}).colour);
  EXPECT_EQ(style_for({.is_terminal = false, .columns = 100}).width, 0U);
  EXPECT_TRUE(style_for({.is_terminal = true, .term = "xterm", .columns = 100}).colour);
  EXPECT_EQ(style_for({.is_terminal = true, .term = "xterm"}).width, 80U);
}

TEST(Terminal, NoColorAndDumbTerminalsAreRespected) {
  const ConsoleStyle no_color = style_for({.is_terminal = true, .no_color = "1", .term = "xterm"});
  EXPECT_FALSE(no_color.colour);
  EXPECT_TRUE(no_color.progress_bar);
  EXPECT_FALSE(style_for({.is_terminal = true, .term = "dumb"}).progress_bar);
}

TEST(Terminal, TextIsAsWideAsTheOneThatItGoesTo) {
  unsetenv("COLUMNS");
  for (const auto& [columns, width] : {std::pair{80, 80}, std::pair{40, 60}, std::pair{400, 160}}) {
    const winsize size{
        .ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    int controller = -1;
    int terminal = -1;
    ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, &size), 0);
    const UniqueFd screen(controller);
    const UniqueFd stream(terminal);
    EXPECT_EQ(text_width(stream.get()), width) << columns;
  }
  EXPECT_EQ(text_width(-1), 120) << "no terminal";
  setenv("COLUMNS", "100", 1);
  EXPECT_EQ(text_width(-1), 100);
  unsetenv("COLUMNS");
}

}  // namespace
}  // namespace caravan::cli
