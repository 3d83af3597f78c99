// CreateJob against an API server whose definition of jobs is older than the service.
#include "service/methods/write_methods.h"

#include <gmock/gmock.h>

#include "common/json.h"
#include "kube/config/config_credentials.h"
#include "tests/kube/fault_server.h"

namespace caravan::service::testing {
namespace {

using kube::testing::FaultServer;
using ::testing::HasSubstr;

constexpr char kJob[] = R"({"metadata": {"name": "tiny"}, "spec": {
    "model": {"preset": "llama-tiny"}, "data": {"claimName": "corpus", "path": "train.bin"},
    "training": {"steps": 100, "sequenceLength": 64, "globalBatchSequences": 8},
    "resources": {"devices": 2, "device": {"kind": "CPU"}}}})";

TEST(WriteMethods, CreateNoJobWithoutAFieldThatAnOlderClusterDoesNotKnow) {
  const FaultServer server(kube::testing::without_field("spec.training"));
  kube::ClientConfig config{.server = {.host = "127.0.0.1", .port = std::to_string(server.port())}};
  config.authority.text = server.authority().certificate_pem;
  SystemClock clock;
  kube::Observer observer;
  kube::ConfigCredentials credentials(config, clock);
  CallerClients clients(kube::peer_of(config), credentials, clock, observer, {.retry = {.tries = 1}});
  WriteMethods methods(clients, clock);
  v1alpha1::CreateJobRequest request;
  request.set_parent("namespaces/s");
  *request.mutable_job() = from_json<v1alpha1::LlamaTrainingJob>(kJob).value();
  for (const bool validate_only : {true, false}) {
    request.set_validate_only(validate_only);
    const auto created = methods.create_job({.caller = {.user = "ada", .token = "secret"}}, request);
    ASSERT_FALSE(created) << validate_only;
    EXPECT_EQ(created.error().code, Code::kInvalidArgument) << validate_only;
    EXPECT_THAT(created.error().message, HasSubstr("unknown field \"spec.training\"")) << validate_only;
  }
}

}  // namespace
}  // namespace caravan::service::testing
