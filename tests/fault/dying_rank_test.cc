// A rank dies behind a checkpoint, in every part of a step and of the next checkpoint: the second attempt
// begins at a checkpoint, and the losses are those of a run in which nobody died, to the bit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSteps = 12;
constexpr int kEvery = 3;

struct Dying {
  int rank = 0;
  std::vector<std::string> points;
};

void PrintTo(const Dying& dying, std::ostream* out) {
  *out << "rank " << dying.rank;
}

class DyingRank : public testing::TestWithParam<Dying> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new JobFolder;
    whole_ = new std::map<int, double>;
    const Finished finished = run(arguments("whole", /*keep_last=*/100));
    ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
    *whole_ = losses_by_step(finished);
    make_programs_with_trainer(programs(), CARAVAN_DYING_TRAINER);
  }
  static void TearDownTestSuite() {
    delete whole_;
    delete folder_;
  }

  static std::string path(const std::string& name) { return folder_->files().path(name); }
  static std::string programs() { return path("programs"); }

  static std::vector<std::string> arguments(const std::string& states, int keep_last = 1) {
    return folder_->arguments(
        {.pipeline = 2,
         .steps = kSteps,
         .more = {fmt::format("checkpoint: {{path: '{}', everySteps: {}, keepLast: {}}}", path(states),
                              kEvery, keep_last)}});
  }

  static void copy_checkpoint(const std::string& from, const std::string& to) {
    const std::string name = fmt::format("/step-{:06}", kEvery);
    fs::create_directories(path(to));
    fs::copy(path(from) + name, path(to) + name);
  }

  static void die(int rank, const std::string& point) {
    const std::string states = fmt::format("{}-{}", point, rank);
    const std::string first_checkpoint = path(states) + fmt::format("/step-{:06}", kEvery);
    // Starting comes before any checkpoint of the same run.
    const bool starts = point == "start";
    if (starts) copy_checkpoint("whole", states);
    setenv("DIES_AT", fmt::format("{}:{}", rank, point).c_str(), 1);
    setenv("DIES_AFTER", first_checkpoint.c_str(), 1);
    setenv("DIES_ONCE", path(states + ".dead").c_str(), 1);
    RunProcess process(arguments(states), programs());
    const Finished finished = process.finish();
    ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
    ASSERT_TRUE(fs::exists(path(states + ".dead"))) << "nobody died";

    const JsonObject event = last_of(finished, "event");
    EXPECT_EQ(text(event, "reason"), "RankFailed");
    EXPECT_EQ(number(event, "rank"), rank);
    EXPECT_THAT(text(event, "message"), HasSubstr("SIGKILL"));
    int first = kSteps + 1;
    for (const JsonObject& step : all_of(finished, "step"))
      if (number(step, "attempt") == 2) first = std::min(first, static_cast<int>(number(step, "step")));
    std::cout << fmt::format("rank {} died in {}: attempt 2 began with step {}\n", rank, point, first);
    EXPECT_GT(first, kEvery) << "not behind a checkpoint";
    EXPECT_EQ(first % kEvery, 1);
    std::map<int, double> expected = *whole_;
    if (starts) expected.erase(expected.begin(), expected.upper_bound(kEvery));
    EXPECT_EQ(losses_by_step(finished), expected);
    EXPECT_THAT(left_behind(process.work_directory()), IsEmpty());
    for (const auto& entry : fs::directory_iterator(path(states))) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("owner-") && name != "run.lock") {
        EXPECT_EQ(name, fmt::format("step-{:06}", kSteps));
      }
    }
  }

 private:
  static inline JobFolder* folder_ = nullptr;
  static inline std::map<int, double>* whole_ = nullptr;
};

TEST_P(DyingRank, CostsTheStepsSinceTheLastCheckpointAndNothingElse) {
  for (const std::string& point : GetParam().points) {
    SCOPED_TRACE(point);
    die(GetParam().rank, point);
  }
}

const std::vector<std::string> kOfEachRank = {"start",     "data",     "forward", "backward",
                                              "optimizer", "snapshot", "write",   "acknowledge"};
const std::vector<std::string> kOfTheFirst = {"commit", "tidy"};

INSTANTIATE_TEST_SUITE_P(Points, DyingRank,
                         testing::Values(Dying{0, kOfEachRank}, Dying{1, kOfEachRank}, Dying{0, kOfTheFirst}),
                         [](const auto& info) {
                           return fmt::format("Rank{}From{}", info.param.rank, info.param.points.front());
                         });

}  // namespace
}  // namespace caravan::test
