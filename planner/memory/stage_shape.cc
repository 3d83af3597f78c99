#include "planner/memory/stage_shape.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, const LayerGroup& group,
                       int segment) {
  return {.model = request.shape,
          .layers = group.layers,
          .has_embedding = group.has_embedding,
          .has_head = group.has_head,
          .tensor = layout.mesh.tensor,
          .sequence_parallel = layout.sequence_parallel,
          .recomputed_layers = group.recomputed_layers,
          .recomputed_part = layout.recomputed_part,
          .micro_batch_size = layout.micro_batch_size,
          .sequence_length = request.training.sequence_length,
          .segments = layout.segments,
          .segment = segment,
          .storage = request.training.bf16 ? ElementType::BF16 : ElementType::FP32,
          .gpu = request.devices.gpu};
}

}  // namespace caravan::planner
