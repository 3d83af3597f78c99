#include "worker/agent/log_sink.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "common/process.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LogSinkTest : public ::testing::Test {
 protected:
  LogSinkTest() {
    log_.set_pattern("%n: %v");
    EXPECT_TRUE(set_nonblocking(pipe_.read_end.get()));
  }

  // What has come since the last time.
  std::string read_all() const {
    std::string text;
    for (std::string page = read_page(); !page.empty(); page = read_page()) text += page;
    return text;
  }
  std::string read_page() const {
    std::string page(4096, '\0');
    const ssize_t count = read(pipe_.read_end.get(), page.data(), page.size());
    page.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return page;
  }

  void log_long_lines(int lines) {
    for (int line = 0; line < lines; ++line) log_.info("{}", std::string(9'000, 'x'));
  }

  const Pipe pipe_ = make_pipe().value();
  const std::shared_ptr<LogSink> sink_ = std::make_shared<LogSink>(pipe_.write_end.get());
  spdlog::logger log_{"agent-0", sink_};
};

TEST_F(LogSinkTest, LinesComeWholeAndInTheirOrder) {
  const std::string long_line(10'000, 'x');
  log_.info("first");
  log_.warn("{}", long_line);
  log_.info("last");
  EXPECT_EQ(read_all(), "agent-0: first\nagent-0: " + long_line + "\nagent-0: last\n");
}

TEST_F(LogSinkTest, AReaderThatIsStuckHoldsNobodyUpAndHearsHowManyLinesItMissed) {
  const auto start = std::chrono::steady_clock::now();
  log_long_lines(1000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3 * LogSink::kPatience) << "it is waited for once";
  const std::string taken = read_all();
  log_.info("it reads again");
  EXPECT_THAT(taken, EndsWith("x")) << "cut off";
  const auto whole = std::count(taken.begin(), taken.end(), '\n');
  EXPECT_EQ(read_all(), fmt::format("\nagent-0: {} lines are missing here: nobody took them in time\n"
                                    "agent-0: it reads again\n",
                                    1000 - whole));
}

TEST_F(LogSinkTest, AReaderThatIsSlowHoldsNobodyUp) {
  const std::jthread reader([this](const std::stop_token& ended) {
    for (; !ended.stop_requested(); std::this_thread::sleep_for(milliseconds(50))) read_page();
  });
  const auto start = std::chrono::steady_clock::now();
  log_long_lines(1000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3 * LogSink::kPatience) << "all would take minutes";
}

TEST_F(LogSinkTest, AReaderThatPausesForHalfASecondMissesNothing) {
  std::string taken;
  {
    const std::jthread reader([&](const std::stop_token& ended) {
      std::this_thread::sleep_for(milliseconds(500));
      for (; !ended.stop_requested(); std::this_thread::sleep_for(milliseconds(1))) taken += read_all();
    });
    log_long_lines(100);
  }
  taken += read_all();
  EXPECT_EQ(std::count(taken.begin(), taken.end(), '\n'), 100);
  EXPECT_THAT(taken, Not(HasSubstr("missing")));
}

TEST_F(LogSinkTest, AReaderThatComesBackAtTheEndHearsWhatItMissedAndTheLastWords) {
  log_.info("{}", std::string(1'000'000, 'x'));  // which takes all patience
  std::string taken;
  {
    const std::jthread reader([&] {
      std::this_thread::sleep_for(milliseconds(300));
      taken = read_all();
    });
    sink_->finish();
    log_.error("last words");
  }
  taken += read_all();
  EXPECT_THAT(taken,
              EndsWith("x\nagent-0: 1 line is missing here: nobody took it in time\nagent-0: last words\n"));
}

}  // namespace
}  // namespace caravan::agent
