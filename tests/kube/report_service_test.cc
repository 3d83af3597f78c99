// The report service over real TLS on loopback, with the agent's own client at the other end.
#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <sstream>

#include "common/testing/temporary_folder.h"
#include "operator/service/report_server.h"
#include "operator/service/token_check.h"
#include "operator/testing/jobs.h"
#include "tests/kube/relay.h"
#include "worker/agent/report_client.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

v1alpha1::JobReport started(int attempt) {
  v1alpha1::JobReport report;
  report.mutable_attempt_started()->set_attempt(attempt);
  return report;
}

v1alpha1::JobReport completed() {
  v1alpha1::JobReport report;
  report.mutable_result()->set_result("Complete");
  return report;
}

class ReportServerTest : public ::testing::Test {
 protected:
  ReportServerTest() { write("token", "secret\n"); }

  static KeyPair authority() { return make_authority("test", std::chrono::hours(1)).value(); }
  // listen_port 0: any.
  void serve(const KeyPair& by, int listen_port = 0) {
    const KeyPair identity =
        issue_certificate(by, {.common_name = "reports", .dns_names = {"localhost"}}).value();
    auto server = ReportServer::start(
        fmt::format("127.0.0.1:{}", listen_port), identity,
        [](const std::string& token) -> Result<Reporter> {
          if (token != "secret") return failure("wrong token");
          return Reporter{.job = {"team", "train"}, .job_uid = "uid"};
        },
        board_,
        [this](const std::string& code, std::chrono::nanoseconds) {
          const std::scoped_lock lock(mutex_);
          ends_.push_back(code);
          changed_.notify_all();
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    write("ca.crt", by.certificate_pem);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::unique_ptr<agent::ReportClient> connect() { return connect(server_->port()); }
  std::unique_ptr<agent::ReportClient> connect(int port) {
    return agent::ReportClient::connect({.address = fmt::format("localhost:{}", port),
                                         .authority_file = path("ca.crt"),
                                         .token_file = path("token"),
                                         .first_pause = 20ms,
                                         .ping_period = 1s},
                                        [] {});
  }
  // The board, once it knows that attempt.
  JobProgress wait_for_attempt(int attempt) {
    std::unique_lock lock(mutex_);
    JobProgress progress;
    changed_.wait_for(lock, kPatience, [&] {
      progress = board_.progress_of("uid").value_or(JobProgress{});
      return progress.attempt >= attempt;
    });
    return progress;
  }

  SystemClock clock_;
  test::TemporaryFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ends_;  // of streams
  std::atomic<bool> job_is_there_ = true;
  ProgressBoard board_{clock_, [this](const Reporter&) { return job_is_there_.load(); },
                       [this](const kube::ObjectKey&) {
                         const std::scoped_lock lock(mutex_);
                         changed_.notify_all();
                       }};
  std::unique_ptr<ReportServer> server_;
};

TEST_F(ReportServerTest, AResultIsOnTheBoardWhenItIsAcknowledged) {
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  client->tell(completed());
  ASSERT_TRUE(client->wait_for_acknowledgement(kPatience));
  const auto progress = board_.progress_of("uid");
  ASSERT_TRUE(progress && progress->result);
  EXPECT_EQ(progress->attempt, 1);
}

TEST_F(ReportServerTest, AnEndAfterTheResultIsNothingToWarnOf) {
  serve(authority());
  auto client = connect();
  client->tell(completed());
  ASSERT_TRUE(client->wait_for_acknowledgement(kPatience));
  std::ostringstream log;
  const auto usual = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  client.reset();
  spdlog::set_default_logger(usual);
  EXPECT_EQ(log.str(), "");
}

TEST_F(ReportServerTest, AReporterWithTheWrongTokenIsNotHeardUntilItHasTheRightOne) {
  serve(authority());
  write("token", "stolen");
  const auto client = connect();
  client->tell(completed());
  EXPECT_FALSE(client->wait_for_acknowledgement(200ms));
  EXPECT_FALSE(board_.progress_of("uid"));
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return !ends_.empty(); }));
    EXPECT_EQ(ends_.front(), "UNAUTHENTICATED");
  }
  write("token", "secret");
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience)) << "the token is read again";
}

TEST_F(ReportServerTest, AJobThatIsDeletedWhileItRunsLeavesNothingOnTheBoard) {
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  job_is_there_ = false;
  board_.forget("uid");
  client->tell(started(2));
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience)) << "its pod ends without waiting for anybody";
  EXPECT_FALSE(board_.progress_of("uid"));
}

TEST_F(ReportServerTest, AJobThatIsNotKnownYetIsToldOfAgain) {
  job_is_there_ = false;
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kPatience, [&] { return !ends_.empty(); }));
    EXPECT_EQ(ends_.front(), "NOT_FOUND");
  }
  EXPECT_FALSE(board_.progress_of("uid"));
  job_is_there_ = true;
  EXPECT_EQ(wait_for_attempt(1).attempt, 1);
}

TEST_F(ReportServerTest, AnOperatorThatComesBackWithANewAuthorityIsToldWhereTheJobStands) {
  serve(authority());
  const int port = server_->port();
  const auto client = connect();
  client->tell(started(3));
  ASSERT_EQ(wait_for_attempt(3).attempt, 3);
  server_.reset();
  board_.forget("uid");
  serve(authority(), port);
  EXPECT_EQ(wait_for_attempt(3).attempt, 3);
}

TEST_F(ReportServerTest, AnOperatorThatIsGoneWithoutAWordIsLeftForTheOneThatAnswers) {
  serve(authority());
  kube::testing::Relay relay(server_->port());
  const auto client = connect(relay.port());
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  relay.swallow();
  client->tell(started(2));
  EXPECT_EQ(wait_for_attempt(2).attempt, 2);
}

TEST(HolderOf, OnlyATokenForUsThatWasGivenToAPodIsGood) {
  const auto review = [](const std::string& status) {
    return kube::parse_json(R"({"status": )" + status + "}", "review").value();
  };
  const std::string user =
      R"("user": {"username": "system:serviceaccount:team:train",
          "extra": {"authentication.kubernetes.io/pod-name": ["train-0-a1"],
                    "authentication.kubernetes.io/pod-uid": ["u1"]}})";
  const auto good = holder_of(
      review(R"({"authenticated": true, "audiences": ["reports.training.caravan.dev"], )" + user + "}"));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->pod, (kube::ObjectKey{"team", "train-0-a1"}));
  EXPECT_EQ(good->pod_uid, "u1");
  const std::string bad[] = {
      R"({"authenticated": false, "error": "expired"})",
      R"({"authenticated": true, "audiences": ["https://kubernetes.default.svc"], )" + user + "}",
      R"({"authenticated": true, "audiences": ["reports.training.caravan.dev"],
          "user": {"username": "system:serviceaccount:team:train"}})",
      R"({"authenticated": true, "audiences": ["reports.training.caravan.dev"], "user": {"username": "admin"}})",
      "{}"};
  for (const std::string& status : bad) EXPECT_FALSE(holder_of(review(status))) << status;
}

TEST(AddReport, WhatIsOldChangesNothing) {
  JobProgress progress;
  EXPECT_TRUE(add_report(started(2), TimePoint(), progress));
  EXPECT_FALSE(add_report(started(1), TimePoint(), progress));
  EXPECT_FALSE(add_report(started(2), TimePoint(), progress));
  v1alpha1::JobReport step;
  step.mutable_step()->set_attempt(1);
  EXPECT_FALSE(add_report(step, TimePoint(), progress));
  EXPECT_FALSE(progress.step);
  step.mutable_step()->set_attempt(2);
  EXPECT_TRUE(add_report(step, TimePoint(), progress)) << "the first step is news";
  EXPECT_FALSE(add_report(step, TimePoint(), progress));
}

TEST(AddReport, AFailureThatIsToldAgainKeepsTheTimeOfItsFirstReport) {
  const TimePoint first = TimePoint() + std::chrono::seconds(5);
  JobProgress progress;
  v1alpha1::JobReport failure;
  failure.mutable_event()->set_attempt(1);
  add_report(failure, first, progress);
  add_report(failure, first + std::chrono::seconds(9), progress);
  EXPECT_EQ(progress.event_at, first);
  failure.mutable_event()->set_attempt(2);
  add_report(failure, first + std::chrono::seconds(9), progress);
  EXPECT_EQ(progress.event_at, first + std::chrono::seconds(9));
}

}  // namespace
}  // namespace caravan::controller::testing
