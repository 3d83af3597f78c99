#include "worker/trainer/pipeline/executor.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "planner/schedule/generate.h"
#include "planner/schedule/validate.h"
#include "worker/trainer/comm/fake_communicator.h"

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;
using planner::Schedule;
using planner::ScheduleKind;

// y = (stage + 2) · x on one number. Notes the order of its ops, its results and how much it holds.
class Multiplier final : public StageWork {
 public:
  Multiplier(int stage, int stages) : stage_(stage), stages_(stages) {}

  at::Tensor boundary_buffer() const override { return at::empty({1}, at::kDouble); }

  at::Tensor forward(int micro_batch, at::Tensor input) override {
    const at::Tensor x = stage_ == 0 ? at::full({1}, micro_batch + 1.0, at::kDouble) : input;
    log.push_back({.type = OpType::Forward, .micro_batch = micro_batch});
    saved_[micro_batch] = x;
    const at::Tensor y = x * factor();
    outputs[micro_batch] = y.item<double>();
    return stage_ + 1 < stages_ ? y : at::Tensor();
  }

  at::Tensor backward(int micro_batch, at::Tensor gradient) override {
    log.push_back({.type = OpType::Backward, .micro_batch = micro_batch});
    return gradients(micro_batch, gradient, true);
  }

  at::Tensor backward_input(int micro_batch, at::Tensor gradient) override {
    log.push_back({.type = OpType::BackwardInput, .micro_batch = micro_batch});
    return gradients(micro_batch, gradient, false);
  }

  void backward_weight(int micro_batch) override {
    log.push_back({.type = OpType::BackwardWeight, .micro_batch = micro_batch});
    weight_gradient += pending_.at(micro_batch);
  }

  std::vector<Op> log;
  std::map<int, double> outputs;
  double weight_gradient = 0;

 private:
  double factor() const { return stage_ + 2; }

  at::Tensor gradients(int micro_batch, const at::Tensor& gradient, bool weights) {
    // The work frees it as early as it can, so nobody else may hold it.
    if (gradient.defined()) {
      EXPECT_EQ(gradient.use_count(), 1U);
    }
    const at::Tensor dy = stage_ + 1 < stages_ ? gradient : at::full({1}, 1.0, at::kDouble);
    pending_[micro_batch] = (dy * saved_.extract(micro_batch).mapped()).item<double>();
    if (weights) weight_gradient += pending_.at(micro_batch);
    return stage_ > 0 ? dy * factor() : at::Tensor();
  }

  const int stage_;
  const int stages_;
  std::map<int, at::Tensor> saved_;
  std::map<int, double> pending_;
};

std::vector<Multiplier> run(const Schedule& schedule) {
  std::vector<Multiplier> works;
  for (int stage = 0; stage < schedule.stages; ++stage) works.emplace_back(stage, schedule.stages);
  const auto group = make_fake_group(schedule.stages);
  std::vector<std::jthread> threads;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    threads.emplace_back(
        [&, stage] { execute(add_transfers(schedule, stage), works[stage], *group[stage]); });
  }
  threads.clear();
  return works;
}

// Of stage s over micro-batches 1..m: Σ x·Π(other factors).
double expected_weight_gradient(const Schedule& schedule, int stage) {
  double product = 1;
  for (int other = 0; other < schedule.stages; ++other) product *= other == stage ? 1 : other + 2;
  return product * schedule.micro_batches * (schedule.micro_batches + 1) / 2;
}

void expect_right(const Schedule& schedule) {
  ASSERT_TRUE(planner::validate_schedule(schedule, {.messages_under_way = 1}));
  const auto works = run(schedule);
  for (int stage = 0; stage < schedule.stages; ++stage) {
    EXPECT_EQ(works[stage].log, schedule.ops[stage]) << "stage " << stage;
    EXPECT_EQ(works[stage].weight_gradient, expected_weight_gradient(schedule, stage)) << "stage " << stage;
  }
}

TEST(Executor, RunsEveryGeneratedListInItsOrderWithTheRightResults) {
  for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::ZeroBubbleH1,
                                  ScheduleKind::ZeroBubbleH2}) {
    for (const int stages : {1, 2, 3, 4}) {
      for (const int micro_batches : {1, 2, 3, 4, 9}) {
        SCOPED_TRACE(testing::Message()
                     << planner::schedule_name(kind) << " p" << stages << " m" << micro_batches);
        expect_right(
            planner::generate_schedule({.kind = kind, .stages = stages, .micro_batches = micro_batches}));
      }
    }
  }
}

std::vector<Op> list(std::string_view text) {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    const OpType type = text[i] == 'F'   ? OpType::Forward
                        : text[i] == 'B' ? OpType::BackwardInput
                                         : OpType::BackwardWeight;
    ops.push_back({.type = type, .micro_batch = text[i + 1] - '0'});
  }
  return ops;
}

TEST(Executor, RunsListsWithWeightGradientsApart) {
  // ZB-H1 of three stages and four micro-batches.
  expect_right(
      {.stages = 3,
       .micro_batches = 4,
       .ops = {list("F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3"), list("F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3"),
               list("F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3")}});
}

TEST(Executor, StagesThatDifferInTheirWarmUpDoNotHang) {
  // As many warm-up forwards as ZB-H2 has, far more than 1F1B.
  expect_right({.stages = 3,
                .micro_batches = 6,
                .ops = {list("F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5"),
                        list("F0 F1 F2 B0 F3 B1 W0 F4 B2 W1 F5 B3 W2 B4 W3 B5 W4 W5"),
                        list("F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 F4 B4 W2 F5 B5 W3 W4 W5")}});
}

TEST(Executor, ForwardsOnlyBringTheProductToTheLastStage) {
  const auto works = run(forward_only(3, 4));
  for (int m = 0; m < 4; ++m) EXPECT_EQ(works[2].outputs.at(m), (m + 1) * 2.0 * 3 * 4);
}

}  // namespace
}  // namespace caravan::trainer
