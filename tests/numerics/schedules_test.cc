// Every schedule that the trainer runs, with 2 and 4 stages, 4 and 8 micro-batches, with and without tensor
// parallelism, comes to the losses and the gradients of one process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/numerics/compared_training.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

class Schedules : public testing::TestWithParam<planner::ScheduleKind> {};

TEST_P(Schedules, GiveTheLossesAndGradientsOfOneProcess) {
  const test::JobFolder corpus;
  const std::string tokens = corpus.files().path("corpus/genesis.bin");
  for (const int stages : {2, 4}) {
    for (const int micro_batches : {4, 8}) {
      TrainingCase wanted{.layout = layout_of(1, stages, 1, GetParam()), .sequences = micro_batches};
      const Training reference = run_compared(tokens, in_one_process(wanted), true);
      for (const int tensor : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} stages, {} micro-batches, tensor {}", stages, micro_batches, tensor));
        wanted.layout = layout_of(tensor, stages, 1, GetParam());
        expect_same(run_compared(tokens, wanted, true), reference);
      }
    }
  }
}

std::vector<planner::ScheduleKind> kinds() {
  std::vector<planner::ScheduleKind> kinds = planner::all_schedule_kinds();
  std::erase_if(kinds, [](planner::ScheduleKind kind) { return !planner::may_be_asked_for(kind); });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(kinds()), [](const auto& info) {
  const std::string name(planner::schedule_name(info.param));
  return name == "1F1B" ? std::string("OneFOneB") : name;
});

}  // namespace
}  // namespace caravan::numerics
