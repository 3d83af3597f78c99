#include "worker/trainer/pipeline/executor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "common/testing/turn.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/post_validation.h"
#include "planner/schedule/simulate.h"
#include "planner/schedule/validate.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/silent_group.h"

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;
using planner::Schedule;
using planner::ScheduleKind;

// y = (group + 2) · x on one number for each group of layers. Notes the order of its ops and how much it
// holds.
class Multiplier final : public StageWork {
 public:
  Multiplier(const Schedule& schedule, int stage)
      : schedule_(&schedule), map_(schedule.map()), stage_(stage), weight_gradients(map_.chunks) {}

  at::Tensor boundary_buffer(const Op&) const override { return at::empty({1}, at::kDouble); }

  at::Tensor run(const Op& op, at::Tensor input) override {
    log.push_back(op);
    switch (op.type) {
      case OpType::Forward:
        return forward(op, input);
      case OpType::Backward: {
        at::Tensor gradient = backward(op, input);
        finish(op);
        return gradient;
      }
      case OpType::BackwardInput:
        return backward(op, input);
      case OpType::BackwardWeight:
        finish(op);
        return {};
    }
    return {};
  }

 private:
  using Unit = std::tuple<int, int, int>;
  struct Saved {
    double x = 0;
    double dy = 0;
  };

  static Unit unit(const Op& op) { return {op.micro_batch, op.segment, op.chunk}; }
  int group(const Op& op) const { return map_.group_of(stage_, op.chunk); }
  double factor(const Op& op) const { return group(op) + 2; }
  static at::Tensor number(double value) { return at::full({1}, value, at::kDouble); }

  at::Tensor forward(const Op& op, const at::Tensor& input) {
    const bool first = group(op) == 0;
    const double x = first ? op.micro_batch * schedule_->segments + op.segment + 1.0 : input.item<double>();
    saved_[unit(op)] = {.x = x};
    most_held = std::max(most_held, saved_.size());
    return group(op) + 1 < map_.groups() ? number(x * factor(op)) : at::Tensor();
  }

  at::Tensor backward(const Op& op, const at::Tensor& gradient) {
    const bool last = group(op) + 1 == map_.groups();
    // The work frees it as early as it can, so nobody but this call's callers may hold it.
    if (!last) {
      EXPECT_EQ(gradient.use_count(), 1U);
    }
    const double dy = last ? 1 : gradient.item<double>();
    saved_.at(unit(op)).dy = dy;
    return group(op) > 0 ? number(dy * factor(op)) : at::Tensor();
  }

  void finish(const Op& op) {
    const Saved saved = saved_.extract(unit(op)).mapped();
    weight_gradients[op.chunk] += saved.dy * saved.x;
  }

  const Schedule* schedule_;
  planner::ChunkMap map_;
  int stage_;
  std::map<Unit, Saved> saved_;

 public:
  std::vector<Op> log;
  std::vector<double> weight_gradients;  // by chunk
  std::size_t most_held = 0;
};

int least_under_way(const Schedule& schedule) {
  int messages = 1;
  while (!planner::validate_schedule(schedule, {.messages_under_way = messages})) ++messages;
  return messages;
}

// execute(stage, its work, its communicator), on all stages at once.
template <typename Execute>
std::vector<Multiplier> on_all_stages(const Schedule& schedule, Execute execute) {
  std::vector<Multiplier> works;
  for (int stage = 0; stage < schedule.stages; ++stage) works.emplace_back(schedule, stage);
  const auto group = make_fake_group(schedule.stages);
  std::vector<std::jthread> threads;
  for (int stage = 0; stage < schedule.stages; ++stage)
    threads.emplace_back([&, stage] { execute(stage, works[stage], *group[stage]); });
  threads.clear();
  return works;
}

std::vector<Multiplier> run(const Schedule& schedule, int under_way) {
  return on_all_stages(schedule, [&](int stage, Multiplier& work, Communicator& pipeline) {
    execute(planner::add_transfers(schedule, stage, under_way), work, pipeline);
  });
}

// Steps in a row, of which some are begun, taken back by all stages and begun again.
std::vector<Multiplier> run_with_recalls(const Schedule& schedule, int under_way, int steps) {
  return on_all_stages(schedule, [&](int stage, Multiplier& work, Communicator& pipeline) {
    const planner::StepActions step = planner::split_step(schedule, stage, under_way);
    for (int number = 0; number < steps; ++number) {
      for (int recalls = number % 3; recalls > 0; --recalls) {
        Multiplier begun(schedule, stage);
        Executor executor(begun, pipeline);
        executor.run(step.leading);
        executor.run(step.recall);
      }
      work = Multiplier(schedule, stage);
      Executor executor(work, pipeline);
      executor.run(step.leading);
      executor.run(step.rest);
    }
  });
}

// Of a group over units 1..n: Σ x·Π(other factors).
double expected_weight_gradient(const Schedule& schedule, int group) {
  double product = 1;
  for (int other = 0; other < schedule.map().groups(); ++other) product *= other == group ? 1 : other + 2;
  const int units = schedule.micro_batches * schedule.segments;
  return product * units * (units + 1) / 2;
}

void expect_right(const Schedule& schedule, const std::vector<Multiplier>& works) {
  for (int stage = 0; stage < schedule.stages; ++stage) {
    EXPECT_EQ(works[stage].log, schedule.ops[stage]) << "stage " << stage;
    const int parts = schedule.chunks * schedule.segments;
    EXPECT_DOUBLE_EQ(static_cast<double>(works[stage].most_held), parts * peak_in_flight(schedule, stage));
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const int group = schedule.map().group_of(stage, chunk);
      EXPECT_EQ(works[stage].weight_gradients[chunk], expected_weight_gradient(schedule, group))
          << "stage " << stage << ", chunk " << chunk;
    }
  }
}

// With as few messages under way as do, and with one more; in one go, and in steps that are taken back.
void expect_right(const Schedule& schedule) {
  const Status valid = planner::validate_schedule(schedule);
  ASSERT_TRUE(valid) << valid.error().message;
  const int least = least_under_way(schedule);
  for (const int under_way : {least, least + 1}) {
    expect_right(schedule, run(schedule, under_way));
    expect_right(schedule, run_with_recalls(schedule, under_way, 4));
  }
}

TEST(Executor, RunsEveryGeneratedListInItsOrderWithTheRightResults) {
  CARAVAN_BY_TURNS();
  for (const ScheduleKind kind : planner::all_schedule_kinds()) {
    for (const int stages : {1, 2, 3, 4}) {
      for (const int micro_batches : {1, 2, 4, 9, 12}) {
        planner::ScheduleSpec spec = planner::smallest_spec(kind, stages, micro_batches);
        if (planner::cuts_sequences(kind)) spec.segments = 3;
        if (!planner::check_spec(spec)) continue;
        SCOPED_TRACE(testing::Message()
                     << planner::schedule_name(kind) << " p" << stages << " m" << micro_batches);
        expect_right(planner::generate_schedule(spec));
      }
    }
  }
}

std::string error_of(const Schedule& schedule, int stage) {
  Multiplier work(schedule, stage);
  SilentGroup group([] { throw CommunicationError("timed out"); });
  try {
    execute(planner::add_transfers(schedule, stage, /*messages_under_way=*/1), work, group);
  } catch (const CommunicationError& error) {
    return error.what();
  }
  return "";
}

TEST(Executor, SaysWhichOpALostPeerWasNeededFor) {
  const Schedule schedule = planner::generate_schedule({.stages = 2, .micro_batches = 3});
  EXPECT_EQ(error_of(schedule, 0),
            "waited for stage 1 to take the output of the forward of micro-batch 0: timed out");
  EXPECT_EQ(error_of(schedule, 1),
            "waited for stage 0 to send the input of the forward of micro-batch 0: timed out");
}

// Arranged for stages that differ, so that some messages overtake each other's ops by far.
TEST(Executor, RunsSchedulesOfUnevenStages) {
  CARAVAN_BY_TURNS();
  std::mt19937 dice(1);
  const auto some = [&] { return 0.5 + static_cast<double>(dice() % 1000) / 1000; };
  for (const ScheduleKind kind : {ScheduleKind::VMin, ScheduleKind::VHalf, ScheduleKind::VZeroBubble}) {
    for (int round = 0; round < 5; ++round) {
      const planner::ScheduleSpec spec{.kind = kind, .stages = 4, .micro_batches = 11, .chunks = 2};
      std::vector<planner::PhaseTimes> times;
      for (int stage = 0; stage < spec.stages; ++stage) times.push_back({some(), some(), some()});
      SCOPED_TRACE(testing::Message() << planner::schedule_name(kind) << " round " << round);
      expect_right(planner::generate_schedule(spec, planner::even_times(times, spec.map(), 1)));
    }
  }
}

}  // namespace
}  // namespace caravan::trainer
