#include "cli/terminal.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace caravan::cli
