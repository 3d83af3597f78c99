// Ranks that take more memory than was planned, and are refused what their device does not have: the job goes
// on with another layout.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/processors.h"
#include "planner/engine_profile.h"
#include "planner/memory/memory_model.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Activations are most of what its ranks take: about 90 MiB in fp32 where each has whole layers, half of
// that where two share them.
constexpr const char* kJob = R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {{name: greedy}}
spec:
  model: {{preset: llama-mini}}
  data: {{claimName: corpus, path: genesis.bin}}
  training: {{steps: 2, sequenceLength: 512, globalBatchSequences: 8, precision: FP32}}
  resources: {{devices: 2, device: {{kind: CPU, memory: "{memory}"}}}}
  parallelism: {{pipeline: 1, microBatchSize: 4, activationCheckpointing: Never}}
)";
// In fp64 enough for the half, not for the whole.
constexpr int64_t kUsable = int64_t{170} << 20;

std::string job_text() {
  planner::DevicePool devices;
  devices.gpu = false;
  devices.threads = std::max(1, usable_processors() / 2);  // of one rank of two
  const int64_t memory = planner::memory_for(kUsable, devices, planner::default_engine_profile());
  return fmt::format(kJob, fmt::arg("memory", memory));
}

class GreedyRanks : public testing::Test {
 protected:
  GreedyRanks() { make_programs_with_trainer(programs(), CARAVAN_GREEDY_TRAINER); }

  std::string programs() const { return folder_.files().path("programs"); }

  std::vector<std::string> arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {folder_.files().write("greedy.yaml", job_text())};
    for (const std::string& argument : folder_.volume()) all.push_back(argument);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const JobFolder folder_;
};

// "TP2 DP1"
std::string sizes(const JsonObject& plan) {
  const JsonObject& layout = plan.fields().at("plan").struct_value();
  return fmt::format("TP{} DP{}", number(layout, "tensor"), number(layout, "data"));
}

TEST_F(GreedyRanks, GetTheNextLayoutThatFitsWithWhatTheyTookAndCompleteInIt) {
  RunProcess run(arguments({}), programs());
  const Finished finished = run.finish();
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  const JsonObject event = last_of(finished, "event");
  EXPECT_EQ(text(event, "reason"), "OutOfMemory");
  EXPECT_THAT(text(event, "message"),
              AllOf(HasSubstr("activations grew past their plan"), HasSubstr("MiB for tensors")));
  const std::vector<JsonObject> plans = all_of(finished, "plan");
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(sizes(plans[0]), "TP1 DP2");
  EXPECT_EQ(sizes(plans[1]), "TP2 DP1");
  EXPECT_THAT(finished.err, AllOf(HasSubstr("Planned again with activations at "), HasSubstr("attempt 1")));
  const JsonObject summary = last_of(finished, "summary");
  EXPECT_EQ(text(summary, "result"), "Complete");
  EXPECT_EQ(number(summary, "restarts"), 1);
  EXPECT_EQ(number(last_of(finished, "step"), "attempt"), 2);
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST_F(GreedyRanks, FailByTheFailurePolicyWhereTheLayoutIsFixed) {
  RunProcess run(arguments({"--set", "spec.parallelism.mode=Manual", "--set", "spec.parallelism.tensor=1",
                            "--set", "spec.parallelism.data=2", "--set", "spec.failurePolicy.maxRestarts=1"}),
                 programs());
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 1);
  EXPECT_EQ(all_of(finished, "plan").size(), 1U);
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("the layout stays: with activations at "), HasSubstr("the job does not fit")));
  EXPECT_THAT(text(last_of(finished, "summary"), "reason"), StartsWith("MaxRestartsReached"));
  EXPECT_EQ(all_of(finished, "event").size(), 2U);
}

}  // namespace
}  // namespace caravan::test
