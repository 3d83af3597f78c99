#include "planner/memory/stage_shape.h"

namespace caravan::planner {

namespace {

// Numbers are those of whole stages; virtual stages recompute all or none.
int recomputed_layers(const Layout& layout, const LayerGroup& group) {
  if (!layout.activation_checkpointing) return 0;
  return layout.recomputed_layers.empty() ? group.layers : layout.recomputed_layers[group.stage];
}

}  // namespace

StageShape stage_shape(const PlanRequest& request, const Layout& layout, const LayerGroup& group) {
  return {.model = request.shape,
          .layers = group.layers,
          .has_embedding = group.has_embedding,
          .has_head = group.has_head,
          .tensor = layout.mesh.tensor,
          .sequence_parallel = layout.sequence_parallel,
          .recomputed_layers = recomputed_layers(layout, group),
          .recomputed_part = layout.recomputed_part,
          .micro_batch_size = layout.micro_batch_size,
          .sequence_length = request.training.sequence_length,
          .storage = request.training.bf16 ? ElementType::BF16 : ElementType::FP32,
          .gpu = request.devices.gpu};
}

}  // namespace caravan::planner
