// Every layout trains the same model: whatever the cut, the losses are those of one rank.
#include <gtest/gtest.h>

#include "common/testing/sample.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

struct LayoutCase {
  std::string name;
  TinyJob job;
  int nodes = 1;
};

void PrintTo(const LayoutCase& layout, std::ostream* out) {
  *out << layout.name;
}

std::vector<LayoutCase> layout_cases() {
  return {
      {"OneRankWithCheckpointing", {.checkpointing = "Always"}},
      {"TensorTwo", {.tensor = 2}},
      {"TensorTwoWithCheckpointing", {.tensor = 2, .checkpointing = "Always"}},
      {"PipelineTwo", {.pipeline = 2}},
      {"PipelineTwoGPipe", {.pipeline = 2, .schedule = "GPipe"}},
      {"PipelineTwoWithCheckpointing", {.pipeline = 2, .checkpointing = "Always"}},
      {"DataTwo", {.data = 2}},
      {"DataTwoWithCheckpointing", {.data = 2, .checkpointing = "Always"}},
      {"DataTwoOnTwoNodes", {.data = 2}, 2},
      {"TensorTwoPipelineTwo", {.tensor = 2, .pipeline = 2}},
      {"TensorTwoPipelineTwoGPipeWithCheckpointing",
       {.tensor = 2, .pipeline = 2, .checkpointing = "Always", .schedule = "GPipe"}},
      {"TensorTwoPipelineTwoOnTwoNodes", {.tensor = 2, .pipeline = 2}, 2},
      {"TensorTwoDataTwo", {.tensor = 2, .data = 2}},
      {"TensorTwoDataTwoOnTwoNodes", {.tensor = 2, .data = 2}, 2},
      {"PipelineTwoDataTwo", {.pipeline = 2, .data = 2}},
      {"PipelineTwoDataTwoGPipe", {.pipeline = 2, .data = 2, .schedule = "GPipe"}},
      {"PipelineFour", {.pipeline = 4}},
      {"PipelineFourGPipeWithCheckpointing", {.pipeline = 4, .checkpointing = "Always", .schedule = "GPipe"}},
      {"TensorTwoPipelineTwoZeroBubble", {.tensor = 2, .pipeline = 2, .schedule = "ZBH1"}},
      {"PipelineTwoVHalf", {.pipeline = 2, .schedule = "VHalf"}},
      {"PipelineFourOnTwoNodes", {.pipeline = 4}, 2},
  };
}

std::vector<double> losses(const Finished& finished) {
  std::vector<double> losses;
  for (const JsonObject& step : all_of(finished, "step")) losses.push_back(number(step, "loss"));
  return losses;
}

class Layouts : public testing::TestWithParam<LayoutCase> {};

TEST_P(Layouts, TrainAsOneRankDoesAndTwiceTheSame) {
  const JobFolder folder;
  const LayoutCase& layout = GetParam();
  const Finished one_rank = run(folder.arguments({}));
  ASSERT_EQ(one_rank.status, (ExitStatus{.exit_code = 0, .signal = 0})) << one_rank.err;
  const std::vector<std::string> arguments =
      folder.arguments(layout.job, {"--nodes", std::to_string(layout.nodes)});
  const Finished first = run(arguments);
  ASSERT_EQ(first.status.exit_code, 0) << first.err;
  const Finished second = run(arguments);
  ASSERT_EQ(second.status.exit_code, 0) << second.err;

  const std::vector<double> expected = losses(one_rank);
  const std::vector<double> actual = losses(first);
  ASSERT_EQ(expected.size(), 6U);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(actual[step], expected[step], 1e-4) << "step " << step + 1;
  }
  EXPECT_LT(actual.back(), actual.front() - 0.3) << "it does not learn";
  EXPECT_EQ(losses(second), actual) << "two runs of the same job differ";
}

INSTANTIATE_TEST_SUITE_P(E2e, Layouts, testing::ValuesIn(sampled(layout_cases(), 4)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::test
