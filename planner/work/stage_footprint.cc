#include "planner/work/stage_footprint.h"

#include "planner/work/block_sizes.h"
#include "planner/work/blocks.h"

namespace caravan::planner {
namespace {

// What the forward of a layer leaves besides its output.
struct LayerBytes {
  int64_t made = 0;  // all rows but the input
  int64_t kept = 0;  // and without those that are made again
};

LayerBytes layer_bytes(const StageShape& stage) {
  LayerBytes bytes;
  for (const SavedTensor& tensor : saved_tensors(stage)) {
    if (tensor.row == SavedRow::Input) continue;
    bytes.made += tensor.bytes;
    if (keeps(stage, tensor.row)) bytes.kept += tensor.bytes;
  }
  return bytes;
}

Footprint freed(int64_t activations) {
  return {.peak = {}, .after = {.activations = -activations}};
}

Footprint forward(const StageShape& stage, const LayerBytes& bytes) {
  const Footprint layer = then(footprint_of(layer_forward(stage)), freed(bytes.made - bytes.kept));
  Footprint all = repeated(layer, stage.layers);
  if (stage.has_embedding) all = then(footprint_of(embedding_forward(stage)), all);
  if (stage.has_head) all = then(all, footprint_of(head_forward(stage)));
  return all;
}

Footprint evaluate(const StageShape& stage, const LayerBytes& bytes, int64_t input) {
  const Footprint layer = then(footprint_of(layer_forward(stage)), freed(bytes.made + input));
  Footprint all = repeated(layer, stage.layers);
  if (stage.has_embedding) all = then(footprint_of(embedding_forward(stage)), all);
  if (stage.has_head) all = then(all, footprint_of(head_evaluate(stage)));
  return all;
}

Footprint backward(const StageShape& stage) {
  const Footprint layer = then(footprint_of(layer_recompute(stage)), footprint_of(layer_backward(stage)));
  Footprint all = repeated(layer, stage.layers);
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
  const LayerBytes bytes = layer_bytes(stage);
  return {.forward = forward(stage, bytes),
          .backward = backward(stage),
          .evaluate = evaluate(stage, bytes, size.local_hidden),
          .kept = stage.layers * (size.local_hidden + bytes.kept) + (stage.has_head ? size.local_hidden : 0),
          .boundary = size.local_hidden,
          .constants = stage.sequence_length * stage.model.head_dim * size.wide};
}

}  // namespace caravan::planner
