// `caravan run` on a terminal: lines that fit, colour, a progress bar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

#include "common/process.h"
#include "common/testing/checkout.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::HasSubstr;
using testing::Not;

using Environment = std::vector<std::pair<std::string, std::string>>;

// What a run writes to a terminal of this width.
std::string output_on_terminal(unsigned short columns, const Environment& environment) {
  const JobFolder folder;
  int master = -1;
  int slave = -1;
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  const UniqueFd screen(master);
  UniqueFd terminal(slave);
  std::vector<std::string> arguments = folder.arguments({.steps = 3});
  arguments.insert(arguments.begin(), "run");
  Result<Process> process = Process::spawn({.program = test::program_folder() + "/caravan",
                                            .arguments = arguments,
                                            .environment = environment,
                                            .stdout_fd = terminal.get()});
  if (!process) throw std::runtime_error(process.error().message);
  terminal.reset();

  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t count = 0; (count = read(screen.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(process->wait().exit_code, 0) << text;
  return text;
}

TEST(Terminal, ShowsColourAndAProgressBarBelowTheLastStep) {
  const std::string text = output_on_terminal(200, {{"TERM", "xterm"}, {"NO_COLOR", ""}});
  EXPECT_THAT(text, HasSubstr("\x1b[2mloss\x1b[0m "));
  EXPECT_THAT(text, HasSubstr("\r\x1b[K["));
  EXPECT_THAT(text, HasSubstr("100 %  step 3/3"));
  EXPECT_THAT(text, HasSubstr("\x1b[32mComplete\x1b[0m: 3 of 3 steps"));
}

TEST(Terminal, HasNoColourWhereTheUserWantsNone) {
  const std::string text = output_on_terminal(200, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  EXPECT_THAT(text, Not(HasSubstr("\x1b[2m")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[32m")));
  EXPECT_THAT(text, HasSubstr("100 %  step 3/3"));
}

TEST(Terminal, ThatIsNarrowGetsTheImportantParts) {
  const std::string text = output_on_terminal(40, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  EXPECT_THAT(text, HasSubstr("step 3/3  loss "));
  EXPECT_THAT(text, Not(HasSubstr("tflops")));
}

TEST(Terminal, ThatIsDumbGetsPlainLines) {
  const std::string text = output_on_terminal(200, {{"TERM", "dumb"}});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("step 3/3  loss "));
}

}  // namespace
}  // namespace caravan::test
