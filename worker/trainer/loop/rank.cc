#include "worker/trainer/loop/rank.h"

#include <utility>

#include "planner/placement.h"

namespace caravan::trainer {
namespace {

at::ScalarType storage_of(Precision precision) {
  switch (precision) {
    case Precision::BF16:
      return at::kBFloat16;
    case Precision::FP32:
      return at::kFloat;
    case Precision::FP64:
      return at::kDouble;
  }
  return at::kFloat;
}

Mesh form_metered_mesh(Rank& rank) {
  const Instruments instruments{rank.meter, rank.clock, rank.ledger.counter(MemoryUse::Communication)};
  const auto factory = [&](const GroupRequest& request) {
    const PhaseClock::Scope scope(rank.clock, Wait{"rendezvous", request.axis});
    return metered(rank.groups(request), request.axis, instruments);
  };
  const planner::Layout& layout = rank.options.layout;
  const planner::Placement placement = planner::place_layers(layout);
  const TableStages tables{.embedding = placement.embedding_stage(),
                           .head = placement.head_stage(),
                           .tied = rank.options.model.tied_embeddings};
  return form_mesh(layout.mesh, tables, rank.options.rendezvous.rank, factory);
}

StagePlacement placement_of(const planner::Layout& layout, const planner::MeshPosition& position) {
  const planner::Placement placement = planner::place_layers(layout);
  return {.chunks = placement.groups_of(position.pipeline),
          .tensor_rank = position.tensor,
          .tensor_size = layout.mesh.tensor};
}

ParameterStore make_parameters(const Rank& rank) {
  ParameterLayout layout =
      lay_out_parameters(rank.options.model, rank.placement, rank.options.layout.mesh.data);
  ParameterStore store;
  {
    const CountTo charge(rank.ledger.counter(MemoryUse::Parameters));
    store = allocate_values(std::move(layout), at::device(rank.device).dtype(rank.storage));
  }
  {
    const CountTo charge(rank.ledger.counter(MemoryUse::Gradients));
    allocate_gradients(store);
  }
  if (!store.values.is_meta()) initialise_parameters(store, rank.options.data.seed);
  return store;
}

std::unique_ptr<Optimizer> make_optimizer(Rank& rank) {
  const CountTo charge(rank.ledger.counter(MemoryUse::Optimizer));
  const planner::Layout& layout = rank.options.layout;
  return std::make_unique<Optimizer>(
      rank.parameters, *rank.mesh.data, rank.options.optimizer.adamw,
      OptimizerPlace{.zero_stage = layout.zero_stage, .tries_updates = layout.validates_afterwards()});
}

std::unique_ptr<GradientSums> make_gradient_sums(Rank& rank) {
  const planner::Layout& layout = rank.options.layout;
  return std::make_unique<GradientSums>(
      rank.parameters, rank.mesh,
      GradientSyncOptions{.sequence_parallel = layout.sequence_parallel, .zero_stage = layout.zero_stage},
      rank.options.micro_batches() * layout.segment_count());
}

std::unique_ptr<Stage> make_stage(Rank& rank) {
  const CountTo charge(rank.ledger.counter(MemoryUse::Workspace));
  const StageOptions options{.model = rank.options.model,
                             .placement = rank.placement,
                             .micro_batch_size = rank.options.layout.micro_batch_size,
                             .sequence_length = rank.options.data.sequence_length,
                             .segments = rank.options.layout.segments,
                             .sequence_parallel = rank.options.layout.sequence_parallel,
                             .recomputed_part = rank.options.layout.recomputed_part,
                             .storage = rank.storage,
                             .on_gpu = rank.options.device == DeviceKind::Gpu};
  const BucketHooks hooks{
      .before_read = [&optimizer = *rank.optimizer](int bucket) { optimizer.await_values(bucket); },
      .after_add = [&sums = *rank.gradient_sums](int bucket) { sums.added(bucket); }};
  return std::make_unique<Stage>(options, rank.parameters, *rank.mesh.tensor, hooks);
}

}  // namespace

Rank::Rank(const TrainerOptions& trainer_options, MemoryLedger& memory_ledger, ActivityBoard& board,
           GroupFactory group_factory, const RankDevice& where)
    : options(trainer_options),
      ledger(memory_ledger),
      marks(where.marks),
      reserved_bytes(where.reserved_bytes),
      clock(board, marks),
      groups(std::move(group_factory)),
      mesh(form_metered_mesh(*this)),
      placement(placement_of(options.layout, mesh.position)),
      storage(storage_of(options.precision)),
      device(where.device),
      parameters(make_parameters(*this)),
      optimizer(make_optimizer(*this)),
      gradient_sums(make_gradient_sums(*this)),
      stage(make_stage(*this)) {}

BatchOptions batch_options(const TrainerOptions& options) {
  const planner::Layout& layout = options.layout;
  const planner::MeshPosition position = position_of(options.rendezvous.rank, layout.mesh);
  const StagePlacement placement = placement_of(layout, position);
  return {.sequence_length = options.data.sequence_length,
          .global_batch_sequences = options.data.global_batch_sequences,
          .micro_batch_size = layout.micro_batch_size,
          .vocabulary = options.model.vocab,
          .seed = options.data.seed,
          .data_rank = position.data,
          .data_size = layout.mesh.data,
          .reads_inputs = placement.has_embedding(),
          .reads_targets = placement.has_head(),
          .pins_memory = options.device == DeviceKind::Gpu};
}

}  // namespace caravan::trainer
