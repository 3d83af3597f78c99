// A run with checkpoints as its user sees it: whatever ends it, running it again goes on, to the losses of a
// run that nothing ended; `caravan checkpoint` tells what there is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSteps = 40;
constexpr int kEvery = 4;
constexpr int kBatch = 64;

class RunWithCheckpoints : public testing::Test {
 protected:
  std::string states(const std::string& name) const { return folder_.files().path(name); }

  TinyJob job(const std::string& name) const {
    return {.data = 2,
            .steps = kSteps,
            .more = {fmt::format("checkpoint: {{path: '{}', everySteps: {}, keepLast: 2}}", states(name),
                                 kEvery)}};
  }

  // Steps long enough for a signal to come between them.
  std::vector<std::string> arguments(const std::string& name) const {
    return folder_.arguments(job(name),
                             {"--set", fmt::format("spec.training.globalBatchSequences={}", kBatch)});
  }

  // By step; of steps that were done again, the later loss.
  static std::map<int, double> losses(const Finished& finished) {
    std::map<int, double> losses;
    for (const JsonObject& step : all_of(finished, "step"))
      losses[static_cast<int>(number(step, "step"))] = number(step, "loss");
    return losses;
  }

  std::map<int, double> uninterrupted() const {
    const Finished finished = run(arguments("whole"));
    EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
    return losses(finished);
  }

  static Outcome caravan(const std::string& arguments) {
    return run_shell(fmt::format("'{}/caravan' {}", program_folder(), arguments));
  }

  const JobFolder folder_;
};

TEST_F(RunWithCheckpoints, GoesOnWhereCtrlCEndedIt) {
  const std::map<int, double> whole = uninterrupted();
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kSteps));

  RunProcess first(arguments("cut"));
  ASSERT_TRUE(first.wait_for_step(1, 5));
  first.signal(SIGINT);
  const Finished stopped = first.finish();
  ASSERT_EQ(stopped.status.exit_code, 130) << stopped.err;
  const int done = static_cast<int>(number(last_of(stopped, "step"), "step"));
  ASSERT_LT(done, kSteps);
  EXPECT_TRUE(fs::exists(fmt::format("{}/step-{:06}", states("cut"), done)));

  const Finished again = run(arguments("cut"));
  ASSERT_EQ(again.status.exit_code, 0) << again.err;
  std::map<int, double> both = losses(again);
  EXPECT_EQ(both.begin()->first, done + 1) << "it did not go on from where it was";
  both.merge(losses(stopped));
  EXPECT_EQ(both, whole);
}

TEST_F(RunWithCheckpoints, AKilledRankCostsTheStepsSinceTheLastOneOnly) {
  const std::map<int, double> whole = uninterrupted();
  RunProcess process(arguments("cut"));
  ASSERT_TRUE(process.wait_for_step(1, 2 * kEvery + 1));
  const auto ranks = processes_of("caravan-trainer", process.work_directory());
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1].pid, SIGKILL);
  const Finished finished = process.finish();
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  int first_of_second = kSteps;
  for (const JsonObject& step : all_of(finished, "step"))
    if (number(step, "attempt") == 2)
      first_of_second = std::min(first_of_second, static_cast<int>(number(step, "step")));
  EXPECT_GT(first_of_second, 2 * kEvery) << "the second attempt did not begin at the checkpoint";
  EXPECT_EQ(first_of_second % kEvery, 1);
  EXPECT_EQ(losses(finished), whole);
  EXPECT_THAT(left_behind(process.work_directory()), IsEmpty());
  for (const auto& entry : fs::directory_iterator(states("cut")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp-")));
}

// The model of a folder, until the job has a checkpoint of its own.
TEST_F(RunWithCheckpoints, BeginWithWeightsWhoseFolderMayGoWhenTheJobHasItsOwn) {
  ASSERT_EQ(run(arguments("first")).status.exit_code, 0);
  const std::string folder = folder_.files().path("model");
  const Outcome exported = caravan(fmt::format("checkpoint export {} {}", states("first"), folder));
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const auto begun = [&](int steps) {
    TinyJob job = this->job("second");
    job.model = fmt::format("{{initFrom: {{path: '{}'}}}}", folder);
    return run(folder_.arguments(job, {"--set", fmt::format("spec.training.steps={}", steps)}));
  };
  const Finished first = begun(kEvery);
  ASSERT_EQ(first.status.exit_code, 0) << first.err;

  fs::remove_all(folder);
  const Finished second = begun(2 * kEvery);
  ASSERT_EQ(second.status.exit_code, 0) << second.err;
  EXPECT_EQ(losses(second).begin()->first, kEvery + 1) << "it did not go on from where it was";
  fs::remove_all(states("second"));
  const Finished none = begun(2 * kEvery);
  EXPECT_EQ(none.status.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("spec.model.initFrom.path: " + folder));
}

TEST_F(RunWithCheckpoints, AreListedInspectedAndVerified) {
  ASSERT_EQ(run(arguments("all")).status.exit_code, 0);
  const std::string path = states("all");
  const Outcome list = caravan("checkpoint list " + path);
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("TP1 PP1 DP2"));
  EXPECT_LT(list.out.find("step-000040"), list.out.find("step-000036")) << list.out;
  EXPECT_THAT(caravan("checkpoint list -o json " + path).out,
              HasSubstr(fmt::format(R"("step":36,"updates":36,"samples":{})", 36 * kBatch)));

  const Outcome inspect = caravan("checkpoint inspect " + path);
  EXPECT_EQ(inspect.exit_code, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("step           40 of 40, 40 updates"));
  EXPECT_THAT(inspect.out, HasSubstr("model.safetensors"));
  EXPECT_THAT(caravan("checkpoint inspect -o json " + path + "/step-000036/").out, HasSubstr(R"("step":36)"));

  EXPECT_THAT(caravan("checkpoint verify " + path).out, HasSubstr("step-000036: intact"));
  fs::resize_file(path + "/step-000036/model.safetensors", 4096);
  const Outcome damaged = caravan("checkpoint verify " + path);
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.out, HasSubstr("step-000040: intact"));
  EXPECT_THAT(damaged.err, HasSubstr("step-000036/model.safetensors: has 4096 bytes"));
  EXPECT_EQ(caravan("checkpoint verify " + path + "/step-000040").exit_code, 0);

  for (const std::string wrong :
       {"list /nowhere", "inspect /nowhere/step-000001", "verify /tmp/nothing-here"})
    EXPECT_EQ(caravan("checkpoint " + wrong).exit_code, 2) << wrong;
  const Outcome none = caravan("checkpoint verify " + folder_.files().path("corpus"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("holds no checkpoint"));
}

}  // namespace
}  // namespace caravan::test
