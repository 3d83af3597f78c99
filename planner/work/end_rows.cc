// The rows of the model's two ends: embedding (worker/trainer/model/stage.cc) and head (head.cc).
#include "planner/work/blocks.h"
#include "planner/work/row_builder.h"

namespace caravan::planner {
namespace {

class EndRows : public RowBuilder {
 public:
  using RowBuilder::RowBuilder;

  void embedding_forward() {
    add({.name = "embedding", .moved = size.full_hidden, .takes = {.activations = size.full_hidden}});
    leave("embedding.leave", Phase::Forward);
  }

  void embedding_backward() {
    enter_gradient("embedding.enter_gradient");
    add({.name = "embedding.backward",
         .phase = Phase::WeightGradient,
         .moved = size.full_hidden,
         .frees = MemoryUse{.activations = size.local_hidden} + entered()});
  }

  void final_norm() {
    add({.name = "final_norm.scale", .moved = size.statistics, .takes = {.activations = size.statistics}});
    norm("final_norm.output", Phase::Forward);
  }

  void logits() {
    add({.name = "head.statistics", .pieces = size.chunks, .takes = {.logits = statistics_of_chunk()}});
    add({.name = "head.logits",
         .pieces = size.chunks,
         .product = forward(size.vocabulary, size.hidden),
         .moved = size.tokens * size.vocabulary * size.element,
         .takes = {.logits = chunk_logits()}});
    add({.name = "head.maxima", .pieces = size.chunks, .collective = statistic(/*rows=*/1)});
    add({.name = "head.sums", .pieces = size.chunks, .collective = statistic(/*rows=*/2)});
  }

  void head_gradients() {
    add({.name = "head.by_input",
         .phase = Phase::Backward,
         .pieces = size.chunks,
         .product = by_input(size.vocabulary, size.hidden),
         .moved = size.full_hidden});
    add({.name = "head.by_weight",
         .phase = Phase::WeightGradient,
         .pieces = size.chunks,
         .product = weight_product(size.vocabulary, size.hidden),
         .frees = logits_of_chunk()});
    add({.name = "head.end_of_chunks", .phase = Phase::Backward, .frees = normed()});
    leave("head.leave_gradient", Phase::Backward);
    add({.name = "final_norm.backward",
         .phase = Phase::Backward,
         .moved = size.local_hidden,
         .moment = {.workspace = size.norm_gradient},
         .frees = {.activations = size.local_hidden + size.statistics}});
  }

  void make_gradient_buffer() {
    add({.name = "head.gradient", .phase = Phase::Backward, .takes = {.activations = size.full_hidden}});
  }

  void end_evaluation() {
    add({.name = "head.loss", .pieces = size.chunks, .frees = logits_of_chunk()});
    add({.name = "head.end_of_evaluation",
         .frees = MemoryUse{.activations = size.local_hidden + size.statistics} + normed()});
  }

 private:
  // Of the softmax: maximum, sum and target of each token.
  int64_t statistics_of_chunk() const { return 3 * size.chunk_tokens * size.wide; }
  int64_t chunk_logits() const { return size.chunk_tokens * size.vocabulary * size.element; }

  MemoryUse logits_of_chunk() const { return {.logits = statistics_of_chunk() + chunk_logits()}; }

  Collective statistic(int64_t rows) const {
    if (!size.reduces) return {};
    return {.kind = CollectiveKind::AllReduce, .bytes = rows * size.tokens * size.wide};
  }
};

}  // namespace

Operations embedding_forward(const StageShape& stage) {
  EndRows rows(stage);
  rows.embedding_forward();
  return rows.take();
}

Operations embedding_backward(const StageShape& stage) {
  EndRows rows(stage);
  rows.embedding_backward();
  return rows.take();
}

Operations head_forward(const StageShape& stage) {
  EndRows rows(stage);
  rows.final_norm();
  rows.make_gradient_buffer();
  rows.logits();
  rows.head_gradients();
  return rows.take();
}

Operations head_evaluate(const StageShape& stage) {
  EndRows rows(stage);
  rows.final_norm();
  rows.logits();
  rows.end_evaluation();
  return rows.take();
}

}  // namespace caravan::planner
