// `caravan run --page` in headless Chromium, which tests/page/run_page_test.cjs drives: a real run, of which
// a rank was killed, and then the agent that has the coordinator.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/process.h"
#include "common/testing/checkout.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using ::testing::HasSubstr;

// Who drives the browser ends the run.
constexpr int kEndless = 1'000'000;

Result<Process> open_browser(const std::string& setting, int output) {
  return Process::spawn({.program = "/usr/bin/env",
                         .arguments = {"node", source_folder() + "/tests/page/run_page_test.cjs", setting},
                         .stdout_fd = output,
                         .stderr_fd = output});
}

TEST(Page, ShowsARunInABrowserUntilItsEnd) {
  const JobFolder folder;
  const std::string checkpoint =
      fmt::format("checkpoint: {{path: '{}', everySteps: 5}}", folder.files().path("checkpoints"));
  RunProcess run(folder.arguments({.data = 2, .steps = kEndless, .more = {checkpoint}}, {"--page"}));
  const auto page = run.wait_for("page");
  ASSERT_TRUE(page) << run.finish().err;
  ASSERT_TRUE(run.wait_for_step(1, 6));
  const auto ranks = processes_of("caravan-trainer", run.work_directory());
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks.back().pid, SIGKILL);
  ASSERT_TRUE(run.wait_for_step(2, 1));
  const auto agents = processes_of("caravan-agent", run.work_directory());
  ASSERT_EQ(agents.size(), 1u);
  kill(agents.front().pid, SIGKILL);
  ASSERT_TRUE(run.wait_for_step(3, 1));

  const std::string setting = folder.files().write(
      "setting.json", fmt::format(R"({{"url": "{}", "pid": {}}})", text(*page, "url"), run.pid()));
  const UniqueFd output(
      open(folder.files().write("browser.txt", "").c_str(), O_WRONLY | O_CLOEXEC | O_APPEND));
  Result<Process> browser = open_browser(setting, output.get());
  ASSERT_TRUE(browser) << browser.error().message;
  const Finished finished = run.finish();
  EXPECT_EQ(browser->wait().exit_code, 0) << contents(folder.files().path("browser.txt"));
  EXPECT_EQ(finished.status.exit_code, 130) << finished.err;
  EXPECT_EQ(number(last_of(finished, "summary"), "restarts"), 2);
}

TEST(Page, OnAPortThatIsTakenIsAnErrorBeforeTheTraining) {
  const JobFolder folder;
  RunProcess first(folder.arguments({.steps = kEndless}, {"--page"}));
  const auto page = first.wait_for("page");
  ASSERT_TRUE(page) << first.finish().err;
  const std::string url = text(*page, "url");
  const std::string address = url.substr(7, url.find("/#") - 7);
  const Finished second = test::run(folder.arguments({}, {"--page=" + address}));
  EXPECT_EQ(second.status.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("--page: "));
  EXPECT_THAT(second.err, HasSubstr(address));
  EXPECT_EQ(second.out, "");
  first.signal(SIGINT);
  first.signal(SIGINT);
  EXPECT_EQ(first.finish().status.exit_code, 130);
}

}  // namespace
}  // namespace caravan::test
