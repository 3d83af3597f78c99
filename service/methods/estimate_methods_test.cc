// Estimates take processor time: how long one may take, and who may have one at once.
#include "service/methods/estimate_methods.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "common/json.h"
#include "common/testing/await.h"
#include "common/testing/turn.h"
#include "service/testing/review_server.h"

namespace caravan::service {
namespace {

// Minutes, for whoever has the time.
constexpr const char* kLongQuestion = R"({
  "parent": "namespaces/team", "allCandidates": true,
  "devices": [8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192],
  "job": {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": "deep"},
    "spec": {
      "model": {"architecture": {"layers": 512, "hiddenSize": 1024, "ffnSize": 2816, "heads": 16, "kvHeads": 16, "headDim": 64,
                                 "vocabSize": 32000}},
      "data": {"claimName": "corpus", "path": "train.bin"},
      "training": {"steps": 10, "sequenceLength": 4096, "globalBatchSequences": 8192},
      "parallelism": {"pipeline": 512, "schedule": "SeqZBH1", "segments": 64},
      "resources": {"devices": 8192, "devicesPerNode": 8, "device": {"kind": "GPU", "product": "H100-80GB"}}}}})";

class EstimateMethodsTest : public ::testing::Test {
 protected:
  EstimateMethodsTest() {
    for (const char* user : {"ada", "bob"}) reviews_.allow_everything(user);
  }

  Answer<v1alpha1::EstimateJobResponse> ask(const std::string& user, const std::string& name_space,
                                            const CallContext& context) {
    auto request = from_json<v1alpha1::EstimateJobRequest>(kLongQuestion).value();
    request.set_parent("namespaces/" + name_space);
    return methods_.estimate_job({.context = context, .caller = {.user = user}}, request);
  }

  // Once the other one is planned for.
  Code code_of(const std::string& user, const std::string& name_space) {
    const CallContext context{.deadline = clock_.now() + std::chrono::milliseconds(50)};
    const auto answer = ask(user, name_space, context);
    return answer ? Code{} : answer.error().code;
  }

  testing::ReviewServer reviews_;
  TokenCredentials credentials_{"of the service"};
  SystemClock clock_;
  kube::Observer observer_;
  kube::Client client_{reviews_, credentials_, clock_, [] { return 0.5; }, {.retry = {.tries = 1}},
                       observer_};
  Rights rights_{client_, clock_};
  EstimateMethods methods_{rights_, clock_};
};

TEST_F(EstimateMethodsTest, OneThatTakesTooLongEndsWithItsCall) {
  CARAVAN_BY_TURNS();
  const CallContext context{.deadline = clock_.now() + std::chrono::milliseconds(100)};
  const auto answer = ask("ada", "team", context);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(answer.error().reason, faults::kTimeout);
}

TEST_F(EstimateMethodsTest, ACallerAndANamespaceHaveOneAtOnceWhateverTheNumberOfItsCallers) {
  CARAVAN_BY_TURNS();
  std::stop_source stop;
  std::atomic<bool> is_over = false;
  std::jthread first([&] {
    const CallContext context{.stop = stop.get_token()};
    Code code = Code::kResourceExhausted;  // while the other one's turn is not over
    while (code == Code::kResourceExhausted) code = ask("ada", "team", context).error().code;
    EXPECT_EQ(code, Code::kCancelled);
    is_over = true;
  });
  test::await([&] { return is_over || code_of("bob", "team") == Code::kResourceExhausted; });
  EXPECT_EQ(code_of("ada", "other"), Code::kResourceExhausted);
  EXPECT_EQ(code_of("bob", "other"), Code::kDeadlineExceeded) << "his turn came, and he had no time";
  EXPECT_FALSE(is_over);
  stop.request_stop();
}

}  // namespace
}  // namespace caravan::service
