#include "operator/service/live_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "caravan/v1alpha1/live_metrics.grpc.pb.h"
#include "common/testing/manual_clock.h"
#include "operator/service/pool_board.h"

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using v1alpha1::LiveMetrics;
using v1alpha1::WatchStepsRequest;
using v1alpha1::WatchStepsResponse;

constexpr std::chrono::seconds kPatience{60};  // a busy machine gets this long before a test fails

class LiveServerTest : public ::testing::Test {
 protected:
  LiveServerTest() {
    const auto identity =
        issue_certificate(authority_, {.common_name = "caravan-operator", .dns_names = {"localhost"}});
    auto server = LiveServer::start(
        {.listen = "127.0.0.1:0", .identity = *identity, .authority_pem = authority_.certificate_pem},
        history_, &pools_);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
  }

  std::unique_ptr<LiveMetrics::Stub> connect(const KeyPair& certificate) const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto tls = grpc::SslCredentials({.pem_root_certs = authority_.certificate_pem,
                                           .pem_private_key = certificate.key_pem,
                                           .pem_cert_chain = certificate.certificate_pem});
    return LiveMetrics::NewStub(
        grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", server_->port()), tls, arguments));
  }

  static KeyPair certificate_of(const KeyPair& authority, const std::string& name, bool for_client = true) {
    return issue_certificate(authority,
                             {.common_name = name, .for_server = !for_client, .for_client = for_client})
        .value();
  }

  std::unique_ptr<grpc::ClientReader<WatchStepsResponse>> watch(LiveMetrics::Stub& stub, int attempt = 0,
                                                                int step = 0) {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() + kPatience);
    WatchStepsRequest request;
    request.set_job_uid("uid");
    request.set_attempt(attempt);
    request.set_step(step);
    return stub.WatchSteps(context_.get(), request);
  }

  void report(int attempt, int step) {
    history_.add("uid", {.at = {attempt, step}, .loss = static_cast<float>(step)});
    history_.tell("uid");
  }

  // The answer's pools, or nothing when there is none.
  static std::optional<int> pools_told(LiveMetrics::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1alpha1::ListPoolsResponse response;
    if (!stub.ListPools(&context, {}, &response).ok()) return std::nullopt;
    return response.pools_size();
  }

  ::caravan::testing::ManualClock clock_;
  kube::Store nodes_;
  TakenRoom taken_;
  bool is_filled_ = true;
  PoolBoard pools_{nodes_, taken_, clock_, [this] { return is_filled_; }};
  StepHistory history_;
  KeyPair authority_ = make_authority("test", std::chrono::hours(1)).value();
  std::unique_ptr<LiveServer> server_;
  std::unique_ptr<grpc::ClientContext> context_;
};

std::vector<int> steps_of(const WatchStepsResponse& response) {
  std::vector<int> steps;
  for (const auto& sample : response.samples()) steps.push_back(sample.step());
  return steps;
}

TEST_F(LiveServerTest, AReaderIsToldOfWhatWasAndOfWhatComes) {
  const auto stub = connect(certificate_of(authority_, kLiveCaller));
  report(1, 1);
  report(1, 2);
  const auto reader = watch(*stub);
  WatchStepsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_THAT(steps_of(response), ElementsAre(1, 2));
  EXPECT_EQ(response.samples(1).loss(), 2);
  EXPECT_FALSE(response.samples(1).has_mfu()) << "which nobody knows";
  report(2, 1);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_THAT(steps_of(response), ElementsAre(1));
  EXPECT_EQ(response.samples(0).attempt(), 2);
  context_->TryCancel();
  EXPECT_FALSE(reader->Read(&response));
}

TEST_F(LiveServerTest, AReaderGoesOnBehindItsCursor) {
  const auto stub = connect(certificate_of(authority_, kLiveCaller));
  for (int step = 1; step <= 3; ++step) report(1, step);
  WatchStepsResponse response;
  ASSERT_TRUE(watch(*stub, 1, 2)->Read(&response));
  EXPECT_THAT(steps_of(response), ElementsAre(3));
}

TEST_F(LiveServerTest, AReaderOfAJobOfWhichNothingIsKnownIsToldThatThereIsNothing) {
  const auto stub = connect(certificate_of(authority_, kLiveCaller));
  const auto reader = watch(*stub);
  WatchStepsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_THAT(steps_of(response), IsEmpty());
  report(1, 1);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_THAT(steps_of(response), ElementsAre(1));
}

TEST_F(LiveServerTest, NobodyElseIsTold) {
  const KeyPair foreign = make_authority("foreign", std::chrono::hours(1)).value();
  const std::map<std::string, KeyPair> others{
      {"without a certificate", {}},
      {"signed by somebody else", certificate_of(foreign, kLiveCaller)},
      {"with another name", certificate_of(authority_, "caravan-worker")},
      {"with a server's certificate", certificate_of(authority_, kLiveCaller, /*for_client=*/false)}};
  for (const auto& [who, certificate] : others) {
    const auto stub = connect(certificate);
    const auto reader = watch(*stub);
    WatchStepsResponse response;
    EXPECT_FALSE(reader->Read(&response)) << who;
    EXPECT_FALSE(reader->Finish().ok()) << who;
    EXPECT_EQ(pools_told(*stub), std::nullopt) << who;
  }
}

TEST_F(LiveServerTest, WhatIsFreeIsLookedAtTwiceAMinuteOnceAllNodesAndPodsAreKnown) {
  const auto stub = connect(certificate_of(authority_, kLiveCaller));
  is_filled_ = false;
  EXPECT_EQ(pools_told(*stub), std::nullopt);
  is_filled_ = true;
  EXPECT_EQ(pools_told(*stub), 0);
  nodes_.upsert(
      kube::parse_json(R"({"metadata": {"name": "a", "uid": "1", "resourceVersion": "1"}, "status": {
      "allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]}})",
                       "node")
          .value());
  EXPECT_EQ(pools_told(*stub), 0) << "as before";
  clock_.advance(PoolBoard::kStands);
  EXPECT_EQ(pools_told(*stub), 1);
}

TEST_F(LiveServerTest, ItsEndEndsItsStreams) {
  const auto stub = connect(certificate_of(authority_, kLiveCaller));
  const auto reader = watch(*stub);
  WatchStepsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  server_ = nullptr;
  EXPECT_FALSE(reader->Read(&response));
  report(1, 1);
}

}  // namespace
}  // namespace caravan::controller
