#include "planner/memory/stage_shape.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, int stage) {
  return {.model = request.shape,
          .layers = layout.layers_per_stage[stage],
          .has_embedding = stage == 0,
          .has_head = stage == layout.mesh.pipeline - 1,
          .tensor = layout.mesh.tensor,
          .sequence_parallel = layout.sequence_parallel,
          .activation_checkpointing = layout.activation_checkpointing,
          .micro_batch_size = layout.micro_batch_size,
          .sequence_length = request.training.sequence_length,
          .storage = request.training.bf16 ? ElementType::BF16 : ElementType::FP32};
}

}  // namespace caravan::planner
