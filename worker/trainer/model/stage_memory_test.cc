// What a stage allocates is what the rows of planner/work add up to, to the byte, on every processor.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <thread>

#include "common/testing/turn.h"
#include "planner/work/stage_footprint.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/model/testing/small_stage.h"

namespace caravan::trainer {
namespace {

using planner::ElementType;
using planner::StageShape;

struct Case {
  const char* name;
  ElementType storage = ElementType::FP32;
  int64_t tensor = 1;
  bool sequence_parallel = false;
  int64_t recomputed_layers = 0;
  planner::RecomputedPart recomputed_part = planner::RecomputedPart::Layer;
  int64_t kv_heads = 4;
  int64_t micro_batch_size = 1;
  int64_t sequence_length = 64;
  int64_t vocab = 256;
  bool has_embedding = true;
  bool has_head = true;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

StageShape shape_of(const Case& each) {
  StageShape stage = small_stage(3);
  stage.model.kv_heads = each.kv_heads;
  stage.model.vocab = each.vocab;
  stage.has_embedding = each.has_embedding;
  stage.has_head = each.has_head;
  stage.tensor = each.tensor;
  stage.sequence_parallel = each.sequence_parallel;
  stage.recomputed_layers = each.recomputed_layers;
  stage.recomputed_part = each.recomputed_part;
  stage.micro_batch_size = each.micro_batch_size;
  stage.sequence_length = each.sequence_length;
  stage.storage = each.storage;
  return stage;
}

// Runs work and holds the ledger against the table, which is that of the rank with most of the vocabulary:
// the first.
template <typename Work>
void expect_phase(const char* name, MemoryLedger& ledger, const planner::Footprint& table, int64_t tolerance,
                  Work work) {
  const int64_t before = ledger.live().total();
  ledger.reset_peak();
  work();
  const int64_t peak = ledger.peak().total() - before;
  EXPECT_LE(std::abs(peak - table.peak.total()), tolerance)
      << name << " allocates " << peak << " bytes at most, the table says " << table.peak.total();
  EXPECT_EQ(ledger.live().total() - before, table.after.total()) << name << ": alive afterwards";
}

void check_rank(const StageShape& shape, Communicator& group, MemoryLedger& ledger) {
  const LedgerScope scope(ledger);
  const StagePlacement placement{.chunks = {{.layers = static_cast<int>(shape.layers),
                                             .has_embedding = shape.has_embedding,
                                             .has_head = shape.has_head,
                                             .recomputed_layers = static_cast<int>(shape.recomputed_layers)}},
                                 .tensor_rank = group.rank(),
                                 .tensor_size = group.size()};
  const at::ScalarType storage = scalar_type(shape.storage);
  ParameterStore store = allocate_parameters(shape.model, placement, 1, storage);
  initialise_parameters(store, 1);
  const planner::StageFootprint table = planner::stage_footprint(shape);
  const int64_t without_stage = ledger.live().total();
  Stage stage({.model = shape.model,
               .placement = placement,
               .micro_batch_size = shape.micro_batch_size,
               .sequence_length = shape.sequence_length,
               .sequence_parallel = shape.sequence_parallel,
               .recomputed_part = shape.recomputed_part,
               .storage = storage},
              store, group);
  EXPECT_EQ(ledger.live().total() - without_stage, table.constants);

  const auto tokens = [&] {
    return at::randint(0, shape.model.vocab, {shape.micro_batch_size, shape.sequence_length}, at::kLong);
  };
  const TokenBatch batch{.inputs_BS = tokens(), .targets_BS = tokens()};
  const auto boundary_tensor = [&](bool present) {
    return present ? at::randn(stage.boundary_shape(), storage) : at::Tensor();
  };
  const int64_t tolerance = group.rank() == 0 ? 0 : table.forward.peak.logits / 64;  // less vocabulary
  at::Tensor input = boundary_tensor(!shape.has_embedding);
  StageOutput output;
  expect_phase("forward", ledger, table.forward, tolerance,
               [&] { output = stage.forward(0, batch, std::move(input)); });
  output.activations_TD.reset();
  at::Tensor gradient = boundary_tensor(!shape.has_head);
  expect_phase("backward", ledger, table.backward, tolerance,
               [&] { gradient = stage.backward(std::move(output.saved), std::move(gradient), nullptr); });
  input = boundary_tensor(!shape.has_embedding);
  expect_phase("evaluate", ledger, table.evaluate, tolerance,
               [&] { output = stage.evaluate(0, batch, std::move(input)); });
}

class StageMemory : public testing::TestWithParam<Case> {};

TEST_P(StageMemory, IsWhatTheTableSays) {
  CARAVAN_BY_TURNS();
  at::set_num_threads(1);
  const StageShape shape = shape_of(GetParam());
  std::vector<MemoryLedger> ledgers(shape.tensor);
  MemoryCounter other;
  const CountingAllocator allocator(other);
  const auto group = make_fake_group(static_cast<int>(shape.tensor));
  std::vector<std::jthread> ranks;
  for (const auto& communicator : group)
    ranks.emplace_back([&, &own_group = *communicator] {
      at::set_num_threads(1);
      check_rank(shape, own_group, ledgers[own_group.rank()]);
    });
}

const Case kCases[] = {
    {.name = "Plain"},
    {.name = "LongSequence", .sequence_length = 800},
    {.name = "MiddleSequence", .sequence_length = 200},
    {.name = "OddSequence", .sequence_length = 33},
    {.name = "Sequences", .micro_batch_size = 3},
    {.name = "UngroupedQueries", .kv_heads = 8},
    {.name = "UngroupedSequences", .kv_heads = 8, .micro_batch_size = 2},
    {.name = "Fp64", .storage = ElementType::FP64},
    {.name = "Bf16", .storage = ElementType::BF16},
    {.name = "Bf16LongSequence", .storage = ElementType::BF16, .sequence_length = 800},
    {.name = "Bf16Checkpointing", .storage = ElementType::BF16, .recomputed_layers = 3},
    {.name = "Checkpointing", .recomputed_layers = 3},
    {.name = "CheckpointingOfOneLayer", .recomputed_layers = 1},
    {.name = "CheckpointingOfTwoMlps",
     .recomputed_layers = 2,
     .recomputed_part = planner::RecomputedPart::Mlp},
    {.name = "Bf16CheckpointingOfTwoLayers", .storage = ElementType::BF16, .recomputed_layers = 2},
    {.name = "ManyChunksOfLogits", .sequence_length = 192, .vocab = 40000},
    {.name = "Bf16ManyChunksOfLogits", .storage = ElementType::BF16, .sequence_length = 192, .vocab = 40000},
    {.name = "FirstStage", .has_head = false},
    {.name = "MiddleStage", .has_embedding = false, .has_head = false},
    {.name = "LastStage", .has_embedding = false},
    {.name = "Tensor2", .tensor = 2},
    {.name = "Tensor2Bf16", .storage = ElementType::BF16, .tensor = 2},
    {.name = "Tensor2OddVocabulary", .tensor = 2, .vocab = 257},
    {.name = "Tensor2Sequence", .tensor = 2, .sequence_parallel = true},
    {.name = "Tensor4Sequence", .tensor = 4, .sequence_parallel = true},
    {.name = "Tensor2SequenceBf16", .storage = ElementType::BF16, .tensor = 2, .sequence_parallel = true},
    {.name = "Tensor2SequenceCheckpointing", .tensor = 2, .sequence_parallel = true, .recomputed_layers = 3},
};

INSTANTIATE_TEST_SUITE_P(All, StageMemory, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::trainer
