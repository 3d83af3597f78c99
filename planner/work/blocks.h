// The table of work: what each kind of block does, row by row, on one rank for one micro-batch.
//
// The trainer's worker/trainer/model is written by hand to these rows; tests hold it against them call by
// call: products, collectives, what is alive between two of them and at most. Whoever changes one changes the
// other. What LibTorch and oneDNN allocate inside a product or attention depends on the processor and is in
// no row. Pure.
#pragma once

#include "planner/work/operation.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {

struct SavedTensor {
  SavedRow row = SavedRow::Input;
  std::string_view name;
  std::vector<int64_t> shape;
  ElementType type = ElementType::FP32;
  int64_t bytes = 0;
};

// What the forward of a layer leaves if nothing of it is made again; its input first.
std::vector<SavedTensor> saved_tensors(const StageShape& stage);
// And what the stage keeps of a micro-batch once.
std::vector<SavedTensor> saved_at_ends(const StageShape& stage);

// Of a layer that runs in part again.
constexpr bool is_made_again(SavedRow row, RecomputedPart part) {
  if (part == RecomputedPart::Mlp) return row == SavedRow::GateUp;
  return row != SavedRow::Input && row != SavedRow::Tokens && row != SavedRow::HeadGradient;
}

// From the input to all that is saved, and on to the output; the input stays.
Operations layer_forward(const StageShape& stage);
// Those of its forward that bring back what a layer does not keep that runs in part again.
Operations layer_recompute(const Operations& forward, RecomputedPart part);
// Gradients by the layer's input and its weights. Consumes the gradient by the output and what is saved.
Operations layer_backward(const StageShape& stage);

// Its backward in two parts: gradients by the input, and those by the weights that may wait. Weights of the
// two products that a residual follows do not: what their gradients need is larger than what the others do.
Operations layer_backward_input(const Operations& backward);
Operations layer_backward_weight(const Operations& backward);

Operations embedding_forward(const StageShape& stage);
Operations embedding_backward(const StageShape& stage);

// The head's forward makes its gradients too, while the logits of a chunk of tokens exist. Turns the last
// layer's output into the gradient by it.
Operations head_forward(const StageShape& stage);
Operations head_evaluate(const StageShape& stage);

}  // namespace caravan::planner
