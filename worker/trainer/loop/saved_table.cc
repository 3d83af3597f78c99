#include "worker/trainer/loop/saved_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/work/blocks.h"

namespace caravan::trainer {
namespace {

planner::ElementType stored_as(Precision precision) {
  switch (precision) {
    case Precision::BF16:
      return planner::ElementType::BF16;
    case Precision::FP32:
      return planner::ElementType::FP32;
    case Precision::FP64:
      return planner::ElementType::FP64;
  }
  return planner::ElementType::FP32;
}

// Of all chunks together.
planner::StageShape stage_shape(const TrainerOptions& options, const StagePlacement& placement) {
  planner::StageShape shape{.model = options.model,
                            .has_embedding = placement.has_embedding(),
                            .has_head = placement.has_head(),
                            .tensor = options.layout.mesh.tensor,
                            .sequence_parallel = options.layout.sequence_parallel,
                            .micro_batch_size = options.layout.micro_batch_size,
                            .sequence_length = options.data.sequence_length,
                            .storage = stored_as(options.precision)};
  for (const planner::LayerGroup& chunk : placement.chunks) {
    shape.layers += chunk.layers;
    shape.recomputed_layers += chunk.recomputed_layers;
  }
  return shape;
}

std::string name_of(planner::ElementType type) {
  switch (type) {
    case planner::ElementType::BF16:
      return "bf16";
    case planner::ElementType::FP32:
      return "fp32";
    case planner::ElementType::FP64:
      return "fp64";
    case planner::ElementType::INT64:
      return "int64";
  }
  return {};
}

SavedTensorRecord record_of(const planner::SavedTensor& tensor, std::string_view block, int64_t copies,
                            const char* policy) {
  std::string shape = fmt::format("{}", fmt::join(tensor.shape, "x"));
  if (copies > 1) shape = fmt::format("{}x{}", copies, shape);
  return {.name = fmt::format("{}{}", block, tensor.name),
          .shape = shape,
          .dtype = name_of(tensor.type),
          .bytes = copies * tensor.bytes,
          .policy = policy};
}

}  // namespace

std::vector<SavedTensorRecord> saved_table(const TrainerOptions& options, const StagePlacement& placement) {
  const planner::StageShape shape = stage_shape(options, placement);
  std::vector<SavedTensorRecord> records;
  for (const planner::SavedTensor& tensor : planner::saved_tensors(shape)) {
    const int64_t again =
        is_made_again(tensor.row, options.layout.recomputed_part) ? shape.recomputed_layers : 0;
    if (again < shape.layers) records.push_back(record_of(tensor, "layer.", shape.layers - again, "keep"));
    if (again > 0) records.push_back(record_of(tensor, "layer.", again, "recompute"));
  }
  for (const planner::SavedTensor& tensor : planner::saved_at_ends(shape))
    records.push_back(record_of(tensor, "", 1, "keep"));
  return records;
}

}  // namespace caravan::trainer
