// The report service over real TLS on loopback, with the agent's own client at the other end.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/testing/await.h"
#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"
#include "operator/api/job_object.h"
#include "operator/service/cluster_report_server.h"
#include "operator/service/token_check.h"
#include "serving/pace.h"
#include "tests/kube/relay.h"
#include "worker/agent/report_client.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

using test::kPatience;

const TimePoint kCreated = to_time("2030-01-01T00:00:00Z").value();

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

v1alpha1::JobReport garbage() {
  v1alpha1::JobReport report;
  report.mutable_step()->set_attempt(2147483647);
  report.mutable_step()->set_seconds(std::nan(""));
  return report;
}

// One who speaks gRPC, but is no agent: it sends what it likes as fast as it can, and reads what comes.
class Stranger {
 public:
  Stranger(int port, const std::string& authority, const std::string& token) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = authority;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ =
        grpc::CreateCustomChannel(fmt::format("localhost:{}", port), grpc::SslCredentials(tls), arguments);
    stub_ = v1alpha1::JobReports::NewStub(channel_);
    context_.AddMetadata("authorization", "Bearer " + token);
    stream_ = stub_->Report(&context_);
  }
  ~Stranger() {
    context_.TryCancel();
    if (!ended_) end();
  }

  bool tell(const v1alpha1::JobReport& report) { return stream_->Write(report); }
  void hang_up() { context_.TryCancel(); }
  // Until the other end ends the stream.
  grpc::Status end() {
    ended_ = true;
    for (v1alpha1::ReportCommand command; stream_->Read(&command);) {
    }
    return stream_->Finish();
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1alpha1::JobReports::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1alpha1::JobReport, v1alpha1::ReportCommand>> stream_;
  bool ended_ = false;
};

class ClusterReportServerTest : public ::testing::Test, private ClusterReportServer::Observer {
 protected:
  ClusterReportServerTest() { write("token", "secret\n"); }
  ~ClusterReportServerTest() override { server_.reset(); }

  static KeyPair authority() { return make_authority("test", std::chrono::hours(1)).value(); }
  // "secret" and "other" are tokens of two pods, "slow" is reviewed for ever.
  static Result<Reporter> review(const CallContext& context, const std::string& token) {
    if (token == "secret") return Reporter{.job = {"team", "train"}, .job_uid = "uid", .pod_uid = "pod"};
    if (token == "other") return Reporter{.job = {"team", "other"}, .job_uid = "other", .pod_uid = "other"};
    if (token == "slow") SystemClock().sleep_until(Clock::kNever, context.stop);
    return failure("wrong token");
  }
  // listen_port 0: any.
  void serve(const KeyPair& by, int listen_port = 0, const ClusterReportServer::Limits& limits = {}) {
    const KeyPair identity =
        issue_certificate(by, {.common_name = "reports", .dns_names = {"localhost"}}).value();
    auto server = ClusterReportServer::start({.listen = fmt::format("127.0.0.1:{}", listen_port),
                                              .identity = identity,
                                              .authenticate = review,
                                              .limits = limits},
                                             clock_, board_, *this);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    authority_ = by.certificate_pem;
    write("ca.crt", authority_);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::unique_ptr<agent::ReportClient> connect() { return connect(server_->port()); }
  std::unique_ptr<agent::ReportClient> connect(int port) {
    return agent::ReportClient::connect({.address = fmt::format("localhost:{}", port),
                                         .authority_file = path("ca.crt"),
                                         .token_file = path("token"),
                                         .first_pause = 20ms,
                                         .longest_pause = 500ms,
                                         .ping_period = 1s},
                                        {.stop = [this] { note([this] { ++stops_; }); },
                                         .save =
                                             [this](const std::string& request) {
                                               const std::scoped_lock lock(mutex_);
                                               saves_.push_back(request);
                                             }});
  }
  // The board, once it knows that attempt.
  JobProgress wait_for_attempt(int attempt) {
    std::unique_lock lock(mutex_);
    JobProgress progress;
    changed_.wait_for(lock, kPatience, [&] {
      progress = board_.look_at("uid").value_or(JobProgress{});
      return progress.attempt >= attempt;
    });
    return progress;
  }

  std::unique_ptr<Stranger> stranger(const std::string& token) {
    return std::make_unique<Stranger>(server_->port(), authority_, token);
  }
  void wait_for_a_review() const {
    test::await([&] { return server_->longest_review() != Clock::Duration::zero(); });
  }
  bool wait_for_end(const std::string& code) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience,
                             [&] { return std::count(ends_.begin(), ends_.end(), code) > 0; });
  }
  template <typename Condition>
  bool wait_until(Condition holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, holds);
  }

 private:
  void on_handled(const std::string& code, std::chrono::nanoseconds) override {
    note([&] { ends_.push_back(code); });
  }
  void on_admitted(const Reporter& reporter) override {
    note([&] { admitted_.push_back(reporter.job.name); });
  }
  void on_refused(const Reporter&, const std::string&) override {
    note([this] { ++refused_; });
  }
  void on_held_up() override {
    note([this] { ++held_up_; });
  }
  void on_warning(const std::string&) override {}
  template <typename Change>
  void note(Change change) {
    const std::scoped_lock lock(mutex_);
    change();
    changed_.notify_all();
  }

 protected:
  SystemClock clock_;
  std::string authority_;
  test::TemporaryFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> saves_;  // requests
  std::condition_variable changed_;
  std::vector<std::string> ends_;  // of streams
  std::vector<std::string> admitted_;
  int refused_ = 0;
  int held_up_ = 0;
  int stops_ = 0;  // that the coordinator was told
  std::atomic<bool> job_is_there_ = true;
  StepHistory history_;
  ProgressBoard board_{clock_, history_,
                       [this](const Reporter&) {
                         return job_is_there_ ? std::optional(JobFacts{.steps = 1'000'000'000,
                                                                       .created_at = clock_.wall_now()})
                                              : std::nullopt;
                       },
                       [this](const kube::ObjectKey&, std::chrono::milliseconds) {
                         const std::scoped_lock lock(mutex_);
                         changed_.notify_all();
                       }};
  std::unique_ptr<ClusterReportServer> server_;
};

TEST_F(ClusterReportServerTest, AResultIsOnTheBoardWhenItIsAcknowledged) {
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  client->tell(completed());
  ASSERT_TRUE(client->wait_for_acknowledgement(kPatience));
  const auto progress = board_.look_at("uid");
  ASSERT_TRUE(progress && progress->result);
  EXPECT_EQ(progress->attempt, 1);
}

TEST_F(ClusterReportServerTest, ACheckpointThatIsAskedForIsOrderedWithTheNextReport) {
  serve(authority());
  board_.ask_for_checkpoint("uid", "uid/earlier");  // nobody has told of that job yet
  const auto client = connect();
  client->tell(started(1));
  wait_for_attempt(1);
  board_.ask_for_checkpoint("uid", "uid/now");
  client->tell(started(2));
  wait_for_attempt(2);
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience));
  const std::scoped_lock lock(mutex_);
  EXPECT_THAT(saves_, ::testing::ElementsAre("uid/now"));
}

TEST_F(ClusterReportServerTest, ACoordinatorIsToldToStopAtOnceAndOnce) {
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  wait_for_attempt(1);
  board_.ask_to_stop("uid");
  EXPECT_TRUE(wait_until([this] { return stops_ == 1; })) << "without another report";
  board_.ask_to_stop("uid");
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience));
  const std::scoped_lock lock(mutex_);
  EXPECT_EQ(stops_, 1) << "a second time it would not wait for its step";
}

TEST_F(ClusterReportServerTest, AnEndAfterTheResultIsNothingToWarnOf) {
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

TEST_F(ClusterReportServerTest, StartsOfRanksDoNotHoldUpWhatIsReadHere) {
  serve(authority(), 0, {.places = {.reports_per_second = 0.001, .burst = 10}});
  const auto client = connect();
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  for (int rank = 0; rank < 100; ++rank) {
    v1alpha1::JobReport report;
    report.mutable_rank_started()->set_rank(rank);
    client->tell(report);
  }
  client->tell(started(2));
  EXPECT_EQ(wait_for_attempt(2).attempt, 2);
}

TEST_F(ClusterReportServerTest, IsReachedPastAProxyOfTheAgentsEnvironment) {
  setenv("grpc_proxy", "http://127.0.0.1:1", /*replace=*/1);  // where nobody listens
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  EXPECT_EQ(wait_for_attempt(1).attempt, 1);
  unsetenv("grpc_proxy");
}

TEST_F(ClusterReportServerTest, AReporterWithTheWrongTokenIsNotHeardUntilItHasTheRightOne) {
  serve(authority());
  write("token", "stolen");
  const auto client = connect();
  client->tell(completed());
  EXPECT_FALSE(client->wait_for_acknowledgement(200ms));
  EXPECT_FALSE(board_.look_at("uid"));
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return !ends_.empty(); }));
    EXPECT_EQ(ends_.front(), "UNAUTHENTICATED");
  }
  write("token", "secret");
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience)) << "the token is read again";
}

TEST_F(ClusterReportServerTest, AJobThatIsDeletedWhileItRunsLeavesNothingOnTheBoard) {
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  job_is_there_ = false;
  board_.forget("uid");
  client->tell(started(2));
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience)) << "its pod ends without waiting for anybody";
  EXPECT_FALSE(board_.look_at("uid"));
}

TEST_F(ClusterReportServerTest, AJobThatIsNotKnownYetIsToldOfAgain) {
  job_is_there_ = false;
  serve(authority());
  const auto client = connect();
  client->tell(started(1));
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kPatience, [&] { return !ends_.empty(); }));
    EXPECT_EQ(ends_.front(), "NOT_FOUND");
  }
  EXPECT_FALSE(board_.look_at("uid"));
  job_is_there_ = true;
  EXPECT_EQ(wait_for_attempt(1).attempt, 1);
}

TEST_F(ClusterReportServerTest, AnOperatorThatComesBackWithANewAuthorityIsToldWhereTheJobStands) {
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

TEST_F(ClusterReportServerTest, AnOperatorThatIsGoneWithoutAWordIsLeftForTheOneThatAnswers) {
  serve(authority());
  kube::testing::Relay relay(server_->port());
  const auto client = connect(relay.port());
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  relay.swallow();
  client->tell(started(2));
  EXPECT_EQ(wait_for_attempt(2).attempt, 2);
}

TEST_F(ClusterReportServerTest, APodHasOneStreamItsNewest) {
  serve(authority());
  const auto first = stranger("secret");
  first->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  const auto second = stranger("secret");
  EXPECT_EQ(first->end().error_code(), grpc::StatusCode::ABORTED);
  second->tell(started(2));
  EXPECT_EQ(wait_for_attempt(2).attempt, 2);
  EXPECT_TRUE(wait_for_end("ABORTED"));
}

TEST_F(ClusterReportServerTest, CoordinatorsTakeTurnsWhenThereAreMoreThanPlaces) {
  serve(authority(), 0, {.places = {.places = 1, .shortest_turn = 0ms}});
  const auto client = connect();
  client->tell(started(1));
  ASSERT_EQ(wait_for_attempt(1).attempt, 1);
  const auto other = stranger("other");
  EXPECT_TRUE(wait_for_end("RESOURCE_EXHAUSTED")) << "the turn of the first is over";
  client->tell(started(2));
  EXPECT_EQ(wait_for_attempt(2).attempt, 2) << "it comes again";
}

TEST_F(ClusterReportServerTest, BeyondTheMostStreamsOneMoreIsRefusedUntilAnotherEnds) {
  serve(authority(), 0, {.places = {.places = 1, .shortest_turn = 1h}});
  auto first = stranger("other");
  ASSERT_TRUE(wait_until([this] { return admitted_.size() == 1; }));
  EXPECT_EQ(stranger("secret")->end().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  first.reset();
  const auto client = connect();
  client->tell(started(1));
  EXPECT_EQ(wait_for_attempt(1).attempt, 1) << "an agent comes again";
}

TEST_F(ClusterReportServerTest, WhoeverWaitsForAReviewHoldsUpNobody) {
  serve(authority());
  const auto slow = stranger("slow");
  wait_for_a_review();
  const auto client = connect();
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience));
}

TEST_F(ClusterReportServerTest, OfOnePeerOnlySomeWaitForAReview) {
  serve(authority(), 0, {.reviews = {.threads = 1, .waiting = 100, .waiting_of_one_peer = 2}});
  const auto runs = stranger("slow");
  wait_for_a_review();
  const std::unique_ptr<Stranger> more[] = {stranger("slow"), stranger("slow"), stranger("slow")};
  EXPECT_TRUE(wait_for_end("RESOURCE_EXHAUSTED")) << "the third has no place to wait";
}

TEST_F(ClusterReportServerTest, WhatCannotBeTrueIsCountedAndNotTaken) {
  serve(authority());
  const auto evil = stranger("secret");
  evil->tell(garbage());
  evil->tell(started(1));
  EXPECT_EQ(wait_for_attempt(1).attempt, 1) << "one bad report does not cost the good ones";
  EXPECT_EQ(refused_, 1);
}

TEST_F(ClusterReportServerTest, AMessageThatIsTooLargeEndsItsStream) {
  serve(authority());
  const auto evil = stranger("secret");
  v1alpha1::JobReport large;
  large.mutable_event()->set_message(std::string(1'000'000, 'm'));
  evil->tell(large);
  EXPECT_FALSE(evil->end().ok());
  EXPECT_EQ(refused_, 0) << "it was not even read";
}

TEST_F(ClusterReportServerTest, AFloodIsReadAtItsPaceAndHoldsUpNobody) {
  serve(authority(), 0, {.places = {.reports_per_second = 1000, .burst = 10}});
  const auto evil = stranger("other");
  std::jthread flood([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && evil->tell(garbage())) {
    }
  });
  ASSERT_TRUE(wait_until([this] { return held_up_ > 10; }));
  const auto client = connect();
  client->tell(started(1));
  client->tell(completed());
  EXPECT_TRUE(client->wait_for_acknowledgement(kPatience));
  evil->hang_up();
}

TEST_F(ClusterReportServerTest, WhoeverComesAgainGoesOnAtTheSamePace) {
  serve(authority(), 0, {.places = {.reports_per_second = 0.001, .burst = 3}});
  for (int stream = 0; stream < 3; ++stream) {
    const auto evil = stranger("secret");
    for (int i = 0; i < 5; ++i) evil->tell(garbage());
    ASSERT_TRUE(wait_until([&] { return held_up_ == stream + 1; }));
  }
  EXPECT_EQ(refused_, 3) << "a burst is a pod's, not a stream's";
}

TEST_F(ClusterReportServerTest, EndsWithStreamsInEveryState) {
  serve(authority(), 0, {.places = {.reports_per_second = 0.001, .burst = 1}, .reviews = {.threads = 2}});
  const auto held_up = stranger("secret");
  for (int i = 0; i < 3; ++i) held_up->tell(started(i + 1));
  ASSERT_TRUE(wait_until([this] { return held_up_ > 0; }));
  const auto silent = stranger("other");
  ASSERT_TRUE(wait_until([this] { return admitted_.size() == 2; }));
  std::vector<std::unique_ptr<Stranger>> slow;
  for (int i = 0; i < 6; ++i) slow.push_back(stranger("slow"));
  wait_for_a_review();
  server_.reset();
  EXPECT_FALSE(held_up->end().ok());
  EXPECT_FALSE(silent->end().ok());
  for (const auto& one : slow) EXPECT_FALSE(one->end().ok());
}

TEST(Pace, HoldsOnTheLongRunAfterABurst) {
  const Clock::TimePoint start{};
  Pace pace(10, 2);
  EXPECT_EQ(pace.reserve(start), 0ms);
  EXPECT_EQ(pace.reserve(start), 0ms);
  EXPECT_EQ(pace.reserve(start), 100ms);
  EXPECT_EQ(pace.reserve(start), 200ms);
  EXPECT_EQ(pace.reserve(start + 1h), 0ms) << "two again, and not more";
  EXPECT_TRUE(pace.try_take(start + 1h));
  EXPECT_FALSE(pace.try_take(start + 1h));
}

class BoardOfOneJob : public ::testing::Test {
 protected:
  ProgressBoard::Answer take(const v1alpha1::JobReport& report) {
    std::string why;
    return board_.take({.job = {"team", "train"}, .job_uid = "uid"}, report, why);
  }

  ::caravan::testing::ManualClock clock_;
  StepHistory history_;
  std::vector<std::chrono::milliseconds> looks_;  // that were asked for
  ProgressBoard board_{
      clock_, history_, [](const Reporter&) { return JobFacts{.steps = 100, .created_at = kCreated}; },
      [this](const kube::ObjectKey&, std::chrono::milliseconds after) { looks_.push_back(after); }};
};

TEST_F(BoardOfOneJob, StepsThatCanBeTrueAreTheHistoryOfTheirJobUntilItIsForgotten) {
  int heard = 0;
  const auto follower = history_.follow("uid", [&] { ++heard; });
  for (const int step : {1, 2, 2, 101}) {
    v1alpha1::JobReport report;
    report.mutable_step()->set_attempt(1);
    report.mutable_step()->set_step(step);
    report.mutable_step()->set_gradient_norm(0.5);
    take(report);
  }
  const std::vector<StepSample> kept = history_.after("uid", {}, 10);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[1].at, (StepCursor{1, 2}));
  EXPECT_EQ(kept[1].gradient_norm, 0.5f);
  EXPECT_EQ(heard, 2);
  board_.forget("uid");
  EXPECT_TRUE(history_.after("uid", {}, 10).empty());
}

TEST_F(BoardOfOneJob, AJobHasALookTwiceASecondAtMost) {
  const auto tell = [&](int attempt) { return take(started(attempt)); };
  for (int attempt = 1; attempt <= 50; ++attempt) EXPECT_EQ(tell(attempt), ProgressBoard::Answer::kTaken);
  EXPECT_THAT(looks_, ::testing::ElementsAre(0ms)) << "which sees all of it";
  EXPECT_EQ(board_.look_at("uid")->attempt, 50);
  tell(51);
  EXPECT_THAT(looks_, ::testing::ElementsAre(0ms, 500ms));
  EXPECT_EQ(board_.look_at("uid")->attempt, 51) << "sooner than was asked for, for another reason";
  tell(52);
  EXPECT_THAT(looks_, ::testing::ElementsAre(0ms, 500ms, 1000ms)) << "nobody has seen the last";
  clock_.advance(1h);
  board_.look_at("uid");
  tell(53);
  EXPECT_EQ(looks_.back(), 0ms);
}

TEST_F(BoardOfOneJob, ACoordinatorThatComesAgainIsToldToStopAgain) {
  int told = 0;
  const auto come = [&] { board_.set_way_to_stop("uid", [&told] { ++told; }); };
  board_.ask_to_stop("uid");
  come();
  EXPECT_EQ(told, 0) << "nothing is kept of a job that nobody has told of";
  take(started(1));
  come();
  EXPECT_EQ(told, 0);
  board_.ask_to_stop("uid");
  board_.ask_to_stop("uid");
  EXPECT_EQ(told, 1);
  come();
  EXPECT_EQ(told, 2) << "at once";
  board_.ask_to_stop("uid");
  EXPECT_EQ(told, 2);
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

}  // namespace
}  // namespace caravan::controller::testing
