#include "planner/work/stage_footprint.h"

#include "planner/work/block_sizes.h"
#include "planner/work/blocks.h"

namespace caravan::planner {
namespace {

// What the forward of a layer leaves besides its input and output.
int64_t inner_bytes(const StageShape& stage) {
  int64_t bytes = 0;
  for (const SavedTensor& tensor : saved_tensors(stage)) {
    if (is_made_again(tensor.row)) bytes += tensor.bytes;
  }
  return bytes;
}

Footprint freed(int64_t activations) {
  return {.peak = {}, .after = {.activations = -activations}};
}

Footprint forward(const StageShape& stage, int64_t inner) {
  const Footprint layer = footprint_of(layer_forward(stage));
  Footprint all = then(repeated(then(layer, freed(inner)), stage.recomputed_layers),
                       repeated(layer, stage.layers - stage.recomputed_layers));
  if (stage.has_embedding) all = then(footprint_of(embedding_forward(stage)), all);
  if (stage.has_head) all = then(all, footprint_of(head_forward(stage)));
  return all;
}

Footprint evaluate(const StageShape& stage, int64_t inner, int64_t input) {
  const Footprint layer = then(footprint_of(layer_forward(stage)), freed(inner + input));
  Footprint all = repeated(layer, stage.layers);
  if (stage.has_embedding) all = then(footprint_of(embedding_forward(stage)), all);
  if (stage.has_head) all = then(all, footprint_of(head_evaluate(stage)));
  return all;
}

// The last layer first.
Footprint backward(const StageShape& stage) {
  const Footprint layer = footprint_of(layer_backward(stage));
  const Footprint again = then(footprint_of(layer_recompute(stage)), layer);
  Footprint all =
      then(repeated(layer, stage.layers - stage.recomputed_layers), repeated(again, stage.recomputed_layers));
  if (stage.has_embedding) all = then(all, footprint_of(embedding_backward(stage)));
  return all;
}

}  // namespace

Footprint footprint_of(std::span<const Operation> rows) {
  Footprint footprint;
  for (const Operation& row : rows) {
    footprint.after += row.takes;
    const MemoryUse now = footprint.after + row.moment;
    if (now.total() > footprint.peak.total()) footprint.peak = now;
    footprint.after = footprint.after - row.frees;
  }
  return footprint;
}

Footprint then(const Footprint& first, const Footprint& next) {
  const MemoryUse later = first.after + next.peak;
  return {.peak = later.total() > first.peak.total() ? later : first.peak, .after = first.after + next.after};
}

Footprint repeated(const Footprint& each, int64_t times) {
  if (times == 0) return {};
  const Footprint before = {.peak = each.peak, .after = (times - 1) * each.after};
  return times == 1 ? each : then(before, each);
}

StageFootprint stage_footprint(const StageShape& stage) {
  const BlockSizes size(stage);
  const int64_t inner = inner_bytes(stage);
  const int64_t kept_inner = (stage.layers - stage.recomputed_layers) * inner;
  return {.forward = forward(stage, inner),
          .backward = backward(stage),
          .evaluate = evaluate(stage, inner, size.local_hidden),
          .kept = stage.layers * size.local_hidden + kept_inner + (stage.has_head ? size.local_hidden : 0),
          .boundary = size.local_hidden,
          .constants = stage.sequence_length * stage.model.head_dim * size.wide};
}

}  // namespace caravan::planner
