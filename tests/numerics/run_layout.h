// Runs one training step's forward and backward over the ranks of a layout, all in this process: tensor and
// data parallel ranks are threads, pipeline stages run one after the other.
#pragma once

#include <vector>

#include "planner/recomputed_part.h"
#include "tests/numerics/reference_model.h"

namespace caravan::numerics {

struct LayoutCase {
  const char* name;
  int tensor = 1;
  int data = 1;  // each takes an equal share of the micro-batches
  int zero_stage = 1;
  bool sequence_parallel = false;
  int recomputed_layers = 0;  // of each stage, or all that it has
  planner::RecomputedPart recomputed_part = planner::RecomputedPart::Layer;
  std::vector<int> layers_per_stage{};  // empty: one stage
  bool weight_gradients_last = false;   // through the queue, after all input gradients
};

struct MicroBatch {
  at::Tensor inputs_BS;
  at::Tensor targets_BS;
};

struct StepResult {
  double loss = 0;  // mean over real tokens
  NamedTensors gradients;
};

StepResult run_layout(const planner::ModelShape& model, const NamedTensors& weights, const LayoutCase& layout,
                      at::ScalarType storage, const std::vector<MicroBatch>& batches);

// The same by the reference model and autograd, in fp64.
StepResult run_reference(const planner::ModelShape& model, const NamedTensors& weights,
                         const std::vector<MicroBatch>& batches);

// Token ids made from a seed; a few targets are -1.
std::vector<MicroBatch> random_batches(const planner::ModelShape& model, int count, int64_t micro_batch_size,
                                       int64_t sequence_length);

// Fails the running test, naming loss or tensor, where `actual` differs by more than atol + rtol ·
// |expected|.
void expect_close(const StepResult& actual, const StepResult& expected, double rtol, double atol);
void expect_bit_equal(const StepResult& actual, const StepResult& expected);

}  // namespace caravan::numerics
