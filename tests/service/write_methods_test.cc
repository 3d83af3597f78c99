// Methods that write, against an API server of scripts.
#include "service/methods/write_methods.h"

#include <gmock/gmock.h>

#include "common/json.h"
#include "kube/config/config_credentials.h"
#include "tests/kube/fault_server.h"

namespace caravan::service::testing {
namespace {

using namespace std::chrono_literals;
using kube::testing::Exchange;
using kube::testing::FaultServer;
using kube::testing::reply_with;
using kube::testing::status_json;
using ::testing::HasSubstr;

constexpr char kJob[] = R"({"metadata": {"name": "tiny"}, "spec": {
    "model": {"preset": "llama-tiny"}, "data": {"claimName": "corpus", "path": "train.bin"},
    "training": {"steps": 100, "sequenceLength": 64, "globalBatchSequences": 8},
    "resources": {"devices": 2, "device": {"kind": "CPU"}}}})";
constexpr char kBusyQuota[] = "Operation cannot be fulfilled on resourcequotas: the object has been modified";

const Call kAda{.caller = {.user = "ada", .token = "secret"}};

v1alpha1::CreateJobRequest creation() {
  v1alpha1::CreateJobRequest request;
  request.set_parent("namespaces/s");
  *request.mutable_job() = from_json<v1alpha1::LlamaTrainingJob>(kJob).value();
  return request;
}

v1alpha1::SuspendJobRequest suspension(const std::string& etag = "") {
  v1alpha1::SuspendJobRequest request;
  request.set_name("namespaces/s/jobs/tiny");
  request.set_etag(etag);
  return request;
}

kube::ClientConfig config_of(const FaultServer& server) {
  kube::ClientConfig config{.server = {.host = "127.0.0.1", .port = std::to_string(server.port())}};
  config.authority.text = server.authority().certificate_pem;
  return config;
}

struct Served {
  explicit Served(const FaultServer& server) : config(config_of(server)) {}

  const kube::ClientConfig config;
  SystemClock clock;
  kube::Observer observer;
  kube::ConfigCredentials credentials{config, clock};
  CallerClients clients{kube::peer_of(config), credentials, clock, observer, {.retry = {.tries = 1}}};
  WriteMethods methods{clients, clock};
};

TEST(WriteMethods, CreateNoJobWithoutAFieldThatAnOlderClusterDoesNotKnow) {
  const FaultServer server(kube::testing::without_field("spec.training"));
  Served served(server);
  v1alpha1::CreateJobRequest request = creation();
  for (const bool validate_only : {true, false}) {
    request.set_validate_only(validate_only);
    const auto created = served.methods.create_job(kAda, request);
    ASSERT_FALSE(created) << validate_only;
    EXPECT_EQ(created.error().code, Code::kInvalidArgument) << validate_only;
    EXPECT_THAT(created.error().message, HasSubstr("unknown field \"spec.training\"")) << validate_only;
  }
}

TEST(WriteMethods, AQuotaThatOthersChangeAtThatMomentIsNoReasonToGiveUp) {
  const FaultServer server(kube::testing::in_turn(
      {reply_with(409, status_json(409, "Conflict", kBusyQuota)), reply_with(201, kJob)}));
  Served served(server);
  const auto busy = served.methods.create_job(kAda, creation());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kUnavailable);
  EXPECT_EQ(busy.error().retry_after, 1s) << busy.error().message;
  const auto created = served.methods.create_job(kAda, creation());
  EXPECT_TRUE(created.has_value()) << created.error().message;
}

TEST(WriteMethods, ACreationSentAgainIsNotToldThatItsJobIsAnothersWhileNobodyCanLook) {
  const auto taken = reply_with(409, status_json(409, "AlreadyExists"));
  const char* made = R"({"metadata": {"name": "tiny", "namespace": "s",
                                      "labels": {"training.caravan.dev/request": "r1"}}})";
  const FaultServer server(kube::testing::in_turn(
      {taken, reply_with(504, status_json(504, "Timeout")), taken, reply_with(200, made)}));
  Served served(server);
  v1alpha1::CreateJobRequest request = creation();
  request.set_request_id("r1");
  const auto unknown = served.methods.create_job(kAda, request);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable) << unknown.error().message;
  const auto found = served.methods.create_job(kAda, request);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->name(), "namespaces/s/jobs/tiny");
}

TEST(WriteMethods, OnlyWhoNamesAVersionIsToldThatItIsOld) {
  const FaultServer server([](Exchange& exchange) {
    if (exchange.request().method == "GET") return exchange.reply(200, kJob);
    exchange.reply(409, status_json(409, "Conflict"));
  });
  Served served(server);
  const auto stale = served.methods.suspend_job(kAda, suspension("7"));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kAborted);
  EXPECT_EQ(stale.error().reason, faults::kStaleEtag);
  const auto busy = served.methods.suspend_job(kAda, suspension());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kUnavailable);
}

TEST(WriteMethods, WhoMayChangeAJobNeedNotReadIt) {
  const FaultServer server([](Exchange& exchange) {
    if (exchange.request().method == "GET") return exchange.reply(403, status_json(403, "Forbidden"));
    exchange.reply(200, kJob);
  });
  Served served(server);
  const auto suspended = served.methods.suspend_job(kAda, suspension());
  EXPECT_TRUE(suspended.has_value()) << suspended.error().message;
}

}  // namespace
}  // namespace caravan::service::testing
