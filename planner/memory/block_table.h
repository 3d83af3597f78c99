// What a pipeline stage of our trainer allocates, to the byte: the tensors that a micro-batch leaves for its
// backward, and the peaks of forward and backward above what was alive before. One truth for the planner,
// which predicts from it, and the trainer, which prints it at start and is tested against it with a counting
// allocator.
//
// Bytes are those asked of the CPU allocator, without alignment. Parameters, gradients and optimizer states
// are not in here, nor what the pipeline around a stage holds (token batches, buffers of its sends and
// receives).
//
// Pure. Assumes: heads, kv_heads, ffn are multiples of `tensor`, and so are the tokens of a micro-batch with
// sequence parallelism.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/model/shape.h"

namespace caravan::planner {

enum class ElementType { BF16, FP32, FP64, INT64 };
int64_t bytes_of(ElementType type);

// One stage of one tensor parallel rank, and the micro-batch that it works on.
struct StageShape {
  ModelShape model;
  int64_t layers = 0;  // of this stage
  bool has_embedding = true;
  bool has_head = true;
  int64_t tensor = 1;
  bool sequence_parallel = false;
  bool activation_checkpointing = false;
  int64_t micro_batch_size = 1;
  int64_t sequence_length = 0;
  ElementType storage = ElementType::FP32;
};

enum class SavePolicy { Keep, Recompute };

// A tensor that the backward of a block needs.
struct SavedTensor {
  std::string name;
  std::vector<int64_t> shape;
  ElementType type = ElementType::FP32;
  int64_t bytes = 0;
  SavePolicy policy = SavePolicy::Keep;
};

// For one micro-batch: the rows of one layer, and those that the stage has once.
std::vector<SavedTensor> layer_table(const StageShape& stage);
std::vector<SavedTensor> stage_ends_table(const StageShape& stage);

// Bytes by what they are used for.
struct MemoryUse {
  int64_t activations = 0;  // rows of the tables, and activations and gradients between blocks
  int64_t logits = 0;
  int64_t workspace = 0;      // temporary tensors of kernels
  int64_t communication = 0;  // results and buffers of collectives of the tensor group
  bool operator==(const MemoryUse&) const = default;

  int64_t total() const { return activations + logits + workspace + communication; }
};

// Both relative to the start of the phase. What is handed in (input activations, output gradient) is alive
// then and belongs to the stage from then on.
struct PhaseMemory {
  MemoryUse peak;
  int64_t after = 0;
};

struct StageMemory {
  PhaseMemory forward;   // after: the kept rows and the output, less the input
  PhaseMemory backward;  // without a weight gradient queue; after: the input gradient, less kept rows and
                         // output gradient
  PhaseMemory evaluate;
  int64_t kept = 0;  // by one micro-batch between its forward and its backward, the stage's input included
  int64_t boundary = 0;   // one tensor of activations, or of their gradients, between stages
  int64_t constants = 0;  // as long as the stage lives: the rotary table
};

StageMemory stage_memory(const StageShape& stage);

}  // namespace caravan::planner
