// The page of a run over real connections.
#include "cli/page/run_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"
#include "http/testing/client.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunPageTest : public ::testing::Test {
 protected:
  RunPageTest() {
    run_.job.set_job_name("llama");
    run_.job.set_job_uid("local-1");
    run_.job.set_nodes(1);
    run_.job.mutable_plan()->set_devices(1);
    open(clock_);
  }
  void open(Clock& clock) {
    auto page = start("127.0.0.1:0", clock);
    EXPECT_TRUE(page) << page.error().message;
    page_ = *std::move(page);
    const std::string& url = page_->url();
    address_ = url.substr(7, url.find("/#") - 7);
    token_ = url.substr(url.find('=') + 1);
  }
  Result<std::unique_ptr<RunPage>> start(const std::string& address, Clock& clock) {
    return RunPage::start(address, {}, run_, folder_.path(), clock);
  }
  std::string head(const std::string& target, const std::string& more = "") {
    return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", target, address_, more);
  }
  std::string with_token(const std::string& more = "") {
    return fmt::format("Authorization: Bearer {}\r\n{}", token_, more);
  }
  std::string ask(const std::string& request) { return http::testing::ask(address_, request); }
  static std::string closing() { return "Connection: close\r\n"; }
  void step(int number) {
    v1alpha1::JobReport report;
    report.mutable_step()->set_attempt(1);
    report.mutable_step()->set_step(number);
    page_->listener().reported(report);
  }

  // Before the page has threads, which they would end.
  const UserSignals signals_ = UserSignals::catch_all().value();
  PreparedRun run_;
  SystemClock clock_;
  testing::ManualClock still_;
  test::TemporaryFolder folder_;
  std::unique_ptr<RunPage> page_;
  std::string address_;
  std::string token_;
};

constexpr char kJob[] = "/v1alpha1/namespaces/local/jobs/llama";

TEST_F(RunPageTest, IsThePageOfTheServiceAndSaysOfWhichRun) {
  const std::string page = ask(head("/", closing()));
  EXPECT_THAT(page,
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Security-Policy: default-src 'none'"),
                    HasSubstr(R"(name="caravan-run" content="namespaces/local/jobs/llama")")));
  EXPECT_THAT(page, Not(HasSubstr(token_)));
  EXPECT_THAT(ask(fmt::format("HEAD / HTTP/1.1\r\nHost: {}\r\n{}\r\n", address_, closing())),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n")));
}

TEST_F(RunPageTest, TellsNothingWithoutTheToken) {
  EXPECT_THAT(ask(head(kJob, with_token(closing()))),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("local-1")));
  EXPECT_THAT(ask(head(kJob, closing())), AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("local-1"))));
  EXPECT_THAT(ask(head(kJob, "Authorization: Bearer 00\r\n" + closing())), StartsWith("HTTP/1.1 401 "));
}

TEST_F(RunPageTest, AnswersNoOtherOriginAndNoOtherName) {
  for (const char* target : {"/", kJob}) {
    EXPECT_THAT(ask(head(target, with_token("Origin: http://evil.example\r\n" + closing()))),
                StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(
        ask(fmt::format("GET {} HTTP/1.1\r\nHost: evil.example\r\n{}\r\n", target, with_token(closing()))),
        StartsWith("HTTP/1.1 403 "));
  }
}

TEST_F(RunPageTest, CannotChangeTheRun) {
  const std::string request = fmt::format(
      "POST {}:cancel HTTP/1.1\r\nHost: {}\r\n{}Content-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n{{}}",
      kJob, address_, with_token(closing()));
  EXPECT_THAT(ask(request), AllOf(StartsWith("HTTP/1.1 501 "), HasSubstr("CancelJob is not there")));
}

TEST_F(RunPageTest, TellsNamesWhereAPortIsTaken) {
  const auto second = start(address_, clock_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, AllOf(StartsWith("--page: "), HasSubstr(address_)));
  EXPECT_EQ(second.error().code, ExitCode::kBadInput);
}

TEST_F(RunPageTest, FollowsStepsLogAndEnd) {
  folder_.write("node-0.log", "the first line\n");
  auto metrics = http::testing::connect(address_);
  metrics.send(head(std::string(kJob) + "/metrics?follow=true", with_token()));
  auto log = http::testing::connect(address_);
  log.send(head(std::string(kJob) + "/logs?follow=true&tailLines=10", with_token()));
  EXPECT_THAT(log.receive("the first line"), HasSubstr("the first line"));
  step(1);
  EXPECT_THAT(metrics.receive("\"step\":1"), HasSubstr("\"step\":1"));
  folder_.write("node-0.log", "the first line\nthe last\n");
  EXPECT_THAT(log.receive("the last"), HasSubstr("the last"));
  auto ending = std::async(std::launch::async, [this] { page_->end({}, signals_); });
  EXPECT_THAT(metrics.receive("event: end"), HasSubstr("event: end"));
  EXPECT_THAT(log.receive("event: end"), HasSubstr("event: end"));
  // As the page does; who stays is waited for a little.
  metrics = http::testing::Client();
  log = http::testing::Client();
}

// Whoever does not read is not waited for: neither by the run, nor for ever at its end.
TEST_F(RunPageTest, AStreamThatIsNotFollowedEnds) {
  folder_.write("node-0.log", "the only line\n");
  EXPECT_THAT(ask(head("/v1alpha1/namespaces/local/jobs/llama/logs", with_token(closing()))),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("the only line"), HasSubstr("event: end")));
}

TEST_F(RunPageTest, ASignalEndsItWhileAnOpenPageIsShownTheEnd) {
  open(still_);  // whose wait has no other end
  auto log = http::testing::connect(address_);
  log.send(head(std::string(kJob) + "/logs?follow=true", with_token()));
  EXPECT_THAT(log.receive("event-stream"), HasSubstr("event-stream"));
  kill(getpid(), SIGUSR1);  // asks for a checkpoint
  auto ending = std::async(std::launch::async, [this] { page_->end({}, signals_); });
  EXPECT_THAT(log.receive("event: end"), HasSubstr("event: end"));
  EXPECT_EQ(ending.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
  kill(getpid(), SIGINT);
  ending.wait();
}

TEST_F(RunPageTest, GoesOnWhenAReaderDoesNotRead) {
  CARAVAN_BY_TURNS();
  auto sleeper = http::testing::connect(address_);
  sleeper.send(head(std::string(kJob) + "/metrics?follow=true", with_token()));
  for (int number = 1; number <= 100'000; ++number) step(number);
  EXPECT_THAT(ask(head(kJob, with_token(closing()))), HasSubstr("\"step\":100000"));
  page_->end({}, signals_);
}

}  // namespace
}  // namespace caravan::cli
