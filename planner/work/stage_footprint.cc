#include "planner/work/stage_footprint.h"

#include "planner/work/block_sizes.h"
#include "planner/work/blocks.h"

namespace caravan::planner {
namespace {

int64_t dropped_bytes(const std::vector<SavedTensor>& saved, RecomputedPart part) {
  int64_t bytes = 0;
  for (const SavedTensor& tensor : saved) {
    if (is_made_again(tensor.row, part)) bytes += tensor.bytes;
  }
  return bytes;
}

Footprint made(int64_t activations) {
  return {.peak = {.activations = activations}, .after = {.activations = activations}};
}

Footprint freed(int64_t activations) {
  return {.peak = {}, .after = {.activations = -activations}};
}

// A layer that runs again as a whole does not keep what later segments attend to.
AgainFootprint again_footprint(const StageShape& stage, const Operations& forward,
                               const std::vector<SavedTensor>& saved, RecomputedPart part) {
  const bool copies = stage.has_later_segments() && part == RecomputedPart::Layer;
  const int64_t copied = copies ? BlockSizes(stage).keys_and_values : 0;
  return {.copied = copied,
          .dropped = dropped_bytes(saved, part),
          .remade = then(freed(copied), footprint_of(layer_recompute(forward, part)))};
}

const AgainFootprint& again(const BlockFootprints& blocks, const StageShape& stage) {
  return blocks.again[static_cast<std::size_t>(stage.recomputed_part)];
}

Footprint forward(const BlockFootprints& blocks, const StageShape& stage) {
  const Footprint& layer = blocks.forward;
  const AgainFootprint& part = again(blocks, stage);
  const Footprint dropping = then(then(layer, made(part.copied)), freed(part.dropped));
  Footprint all = then(repeated(dropping, stage.recomputed_layers),
                       repeated(layer, stage.layers - stage.recomputed_layers));
  if (stage.has_embedding) all = then(blocks.embedding_forward, all);
  if (stage.has_head) all = then(all, blocks.head_forward);
  return all;
}

Footprint evaluate(const BlockFootprints& blocks, const StageShape& stage) {
  const BlockSizes size(stage);
  const Footprint copy = made(stage.has_later_segments() ? size.keys_and_values : 0);
  Footprint all =
      repeated(then(then(blocks.forward, copy), freed(blocks.inner + size.local_hidden)), stage.layers);
  if (stage.has_embedding) all = then(blocks.embedding_forward, all);
  if (stage.has_head) all = then(all, blocks.head_evaluate);
  return all;
}

// The last layer first. layer: the backward of one, or the part that is wanted.
Footprint backward(const BlockFootprints& blocks, const StageShape& stage, const Footprint& layer) {
  Footprint all = then(repeated(layer, stage.layers - stage.recomputed_layers),
                       repeated(then(again(blocks, stage).remade, layer), stage.recomputed_layers));
  if (stage.has_embedding) all = then(all, blocks.embedding_backward);
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

BlockFootprints block_footprints(const StageShape& stage) {
  const BlockSizes size(stage);
  const Operations forward = layer_forward(stage);
  const Operations backward = layer_backward(stage);
  const std::vector<SavedTensor> saved = saved_tensors(stage);
  return {.forward = footprint_of(forward),
          .backward = footprint_of(backward),
          .backward_input = footprint_of(layer_backward_input(backward)),
          .backward_weight = footprint_of(layer_backward_weight(backward)),
          .again = {again_footprint(stage, forward, saved, RecomputedPart::Layer),
                    again_footprint(stage, forward, saved, RecomputedPart::Mlp)},
          .embedding_forward = footprint_of(embedding_forward(stage)),
          .embedding_backward = footprint_of(embedding_backward(stage)),
          .head_forward = footprint_of(head_forward(stage)),
          .head_evaluate = footprint_of(head_evaluate(stage)),
          .inner = dropped_bytes(saved, RecomputedPart::Layer),
          .lent = size.lent_gradients,
          .borrowed = size.borrowed_gradients};
}

StageFootprint stage_footprint(const BlockFootprints& blocks, const StageShape& stage) {
  const BlockSizes size(stage);
  const AgainFootprint& part = again(blocks, stage);
  const int64_t kept_inner =
      stage.layers * blocks.inner - stage.recomputed_layers * (part.dropped - part.copied);
  return {.forward = forward(blocks, stage),
          .backward = backward(blocks, stage, blocks.backward),
          .backward_input = backward(blocks, stage, blocks.backward_input),
          .backward_weight = repeated(blocks.backward_weight, stage.layers),
          .evaluate = evaluate(blocks, stage),
          .kept = stage.layers * size.local_hidden + kept_inner + (stage.has_head ? size.local_hidden : 0),
          .waiting = -stage.layers * blocks.backward_weight.after.total(),
          .lent = stage.layers * blocks.lent,
          .borrowed = stage.layers * blocks.borrowed,
          .boundary = size.local_hidden,
          .constants = stage.sequence_length * stage.model.head_dim * size.wide};
}

StageFootprint stage_footprint(const StageShape& stage) {
  return stage_footprint(block_footprints(stage), stage);
}

}  // namespace caravan::planner
