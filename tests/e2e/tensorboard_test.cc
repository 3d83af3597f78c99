// The curves that a run draws, as TensorBoard's own reader has them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "common/json.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using ::testing::HasSubstr;

// For something to happen between them.
const std::vector<std::string> kLongSteps = {"--set", "spec.training.globalBatchSequences=64"};

using Curve = std::map<int, float>;  // TensorBoard keeps fp32

class TensorBoard : public testing::Test {
 protected:
  std::string events() const { return folder_.files().path("runs/mine"); }

  std::vector<std::string> arguments(const TinyJob& job, const std::vector<std::string>& more = {}) const {
    auto all = folder_.arguments(job, {"--tensorboard", events()});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::map<std::string, Curve> curves() const {
    const Outcome read = run_shell(
        fmt::format("{} {}/tests/e2e/read_events.py '{}'", CARAVAN_TENSORBOARD, source_folder(), events()));
    EXPECT_EQ(read.exit_code, 0) << read.err;
    const Result<JsonObject> all = from_json<JsonObject>(read.out);
    std::map<std::string, Curve> curves;
    if (!all) return curves;
    for (const auto& [tag, points] : all->fields()) {
      for (const auto& [step, value] : points.struct_value().fields())
        curves[tag][std::stoi(step)] = static_cast<float>(value.number_value());
    }
    return curves;
  }

  // What the JSON lines say of it; of steps that were done again, the later value.
  static void add(const Finished& finished, const std::string& key, Curve& curve) {
    for (const JsonObject& step : all_of(finished, "step")) {
      if (step.fields().at(key).has_number_value())
        curve[static_cast<int>(number(step, "step"))] = static_cast<float>(number(step, key));
    }
  }

  const JobFolder folder_;
};

TEST_F(TensorBoard, DrawsWhatTheLinesOfEveryStepSay) {
  const Finished finished =
      run(arguments({.data = 2, .steps = 6}, {"--set", "spec.data.validationPath=held-out.bin", "--set",
                                              "spec.training.evaluation.everySteps=3", "--set",
                                              "spec.training.evaluation.batches=1"}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  const std::pair<const char*, const char*> scalars[] = {{"loss/training", "loss"},
                                                         {"optimizer/gradient_norm", "gradNorm"},
                                                         {"optimizer/learning_rate", "learningRate"},
                                                         {"speed/tokens_per_second", "tokensPerSecond"},
                                                         {"speed/step_seconds", "seconds"}};
  const auto drawn = curves();
  for (const auto& [tag, key] : scalars) {
    Curve expected;
    add(finished, key, expected);
    EXPECT_EQ(expected.size(), 6u) << key;
    ASSERT_TRUE(drawn.contains(tag)) << tag;
    EXPECT_EQ(drawn.at(tag), expected) << tag;
  }
  EXPECT_EQ(drawn.at("loss/validation").size(), 2u);
  EXPECT_EQ(drawn.at("memory/peak_gibibytes").size(), 6u);
}

TEST_F(TensorBoard, StepsThatAreDoneAgainReplaceThoseOfTheAttemptThatDied) {
  RunProcess process(arguments({.data = 2, .steps = 30}, kLongSteps));
  ASSERT_TRUE(process.wait_for_step(1, 5));
  const auto ranks = processes_of("caravan-trainer", process.work_directory());
  ASSERT_FALSE(ranks.empty());
  kill(ranks.front().pid, SIGKILL);
  const Finished finished = process.finish();
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  Curve expected;
  add(finished, "seconds", expected);
  EXPECT_EQ(expected.size(), 30u);
  EXPECT_EQ(curves()["speed/step_seconds"], expected);
}

TEST_F(TensorBoard, ARunThatIsResumedGoesOnWithTheCurve) {
  const TinyJob job{.steps = 40,
                    .more = {fmt::format("checkpoint: {{path: '{}'}}", folder_.files().path("states"))}};
  RunProcess first(arguments(job, kLongSteps));
  ASSERT_TRUE(first.wait_for_step(1, 5));
  first.signal(SIGINT);
  Curve expected;
  add(first.finish(), "loss", expected);
  ASSERT_LT(expected.size(), 40u);
  const Finished second = run(arguments(job, kLongSteps));
  ASSERT_EQ(second.status.exit_code, 0) << second.err;
  EXPECT_GT(number(all_of(second, "step").front(), "step"), 1);
  add(second, "loss", expected);
  EXPECT_EQ(expected.size(), 40u);
  EXPECT_EQ(curves()["loss/training"], expected);
}

TEST_F(TensorBoard, AFolderThatTakesNoFilesIsToldBeforeAnythingStarts) {
  const std::string file = folder_.files().write("file", "");
  const Finished finished = run(folder_.arguments({}, {"--tensorboard", file}));
  EXPECT_EQ(finished.status.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--tensorboard: cannot write into '" + file + "'"));
  EXPECT_TRUE(finished.lines.empty());
}

}  // namespace
}  // namespace caravan::test
