// The order of allocations in worker/trainer/model, replayed. Whoever changes one changes the other; a test
// holds them together.
#include <algorithm>

#include "planner/memory/block_sizes.h"
#include "planner/memory/block_table.h"
#include "planner/memory/tally.h"
#include "planner/memory/workspace.h"

namespace caravan::planner {
namespace {

class Replay {
 public:
  explicit Replay(const StageShape& stage)
      : stage_(stage), size_(stage), work_(stage), hidden_(stage.model.hidden) {}

  PhaseMemory forward() {
    if (stage_.has_embedding) embedding_forward();
    for (int64_t layer = 0; layer < stage_.layers; ++layer) {
      layer_forward_saved();
      layer_output();
      if (stage_.activation_checkpointing) tally_.activations(-inner_kept());
    }
    if (stage_.has_head) head(/*with_gradients=*/true);
    return tally_.phase();
  }

  PhaseMemory evaluate() {
    if (stage_.has_embedding) embedding_forward();
    for (int64_t layer = 0; layer < stage_.layers; ++layer) {
      layer_forward_saved();
      layer_output();
      tally_.activations(-inner_kept() - size_.local_hidden);
    }
    if (stage_.has_head) head(/*with_gradients=*/false);
    return tally_.phase();
  }

  PhaseMemory backward() {
    for (int64_t layer = 0; layer < stage_.layers; ++layer) layer_backward();
    if (stage_.has_embedding) embedding_backward();
    return tally_.phase();
  }

  // Kept by a layer besides its input.
  int64_t inner_kept() const {
    return 2 * size_.statistics + size_.qkv + size_.attention + size_.log_sums + size_.local_hidden +
           size_.gate_up;
  }

 private:
  // A tensor of local tokens becomes one of all tokens; the caller frees it with release_gathered.
  void gather() {
    if (size_.gathers) tally_.communication(size_.full_hidden);
  }
  void release_gathered() {
    if (size_.gathers) tally_.communication(-size_.full_hidden);
  }

  // A normed activation, all tokens of it.
  void take_normed() {
    tally_.workspace(size_.local_hidden);
    gather();
    if (size_.gathers) tally_.workspace(-size_.local_hidden);
  }
  void release_normed() {
    if (!size_.gathers) tally_.workspace(-size_.local_hidden);
    release_gathered();
  }

  // Partial sums of all tokens, alive, become the sum of the local ones in a tensor between blocks.
  void reduce() {
    if (size_.gathers) {
      tally_.activations(size_.local_hidden);
      tally_.pass_communication(work_.sum_stored(size_.tokens * hidden_));
      tally_.activations(-size_.full_hidden);
    } else if (size_.reduces) {
      tally_.pass_communication(work_.sum_stored(size_.tokens * hidden_));
    }
  }

  void embedding_forward() {
    tally_.activations(size_.full_hidden);
    reduce();
  }

  void layer_forward_saved() {
    tally_.activations(size_.statistics);
    take_normed();
    tally_.activations(size_.qkv);
    release_normed();
    tally_.activations(size_.attention + size_.log_sums);
    tally_.activations(size_.full_hidden);
    reduce();
    tally_.activations(size_.statistics);
    take_normed();
    tally_.activations(size_.gate_up);
    release_normed();
  }

  void layer_output() {
    tally_.workspace(size_.gated);
    tally_.activations(size_.full_hidden);
    tally_.workspace(-size_.gated);
    reduce();
  }

  // Alive: the kept rows and the gradient by the layer's output. Left: the gradient by its input.
  void layer_backward() {
    if (stage_.activation_checkpointing) layer_forward_saved();
    mlp_backward();
    attention_backward();
    tally_.activations(-size_.local_hidden);  // the layer's input
  }

  void mlp_backward() {
    gather();
    tally_.workspace(size_.gated);
    tally_.pass_workspace(work_.swiglu_backward());
    tally_.pass_workspace(work_.weight_gradient(hidden_, size_.ffn));
    tally_.workspace(-size_.gated);
    release_gathered();
    take_normed();
    tally_.pass_workspace(work_.weight_gradient(2 * size_.ffn, hidden_));
    release_normed();
    tally_.activations(size_.full_hidden);
    tally_.activations(-size_.gate_up);
    reduce();
    tally_.activations(-size_.local_hidden);                     // the output's gradient
    tally_.activations(-size_.local_hidden - size_.statistics);  // the middle and its norm's scale
  }

  void attention_backward() {
    gather();
    tally_.pass_workspace(work_.weight_gradient(hidden_, size_.heads));
    tally_.workspace(size_.attention);
    release_gathered();
    tally_.pass_workspace(work_.attention_backward());
    tally_.workspace(-size_.attention);
    tally_.activations(-size_.attention - size_.log_sums);
    take_normed();
    tally_.pass_workspace(work_.weight_gradient(size_.fused_heads, hidden_));
    release_normed();
    tally_.activations(size_.full_hidden);
    tally_.activations(-size_.qkv);
    reduce();
    tally_.activations(-size_.local_hidden -
                       size_.statistics);  // the middle's gradient, the first norm's scale
  }

  void embedding_backward() {
    gather();
    release_gathered();
    tally_.activations(-size_.local_hidden);
  }

  // Alive: the last layer's output. Left: the gradient by it.
  void head(bool with_gradients) {
    tally_.workspace(size_.statistics);
    take_normed();
    if (with_gradients) tally_.activations(size_.full_hidden);
    tally_.logits(work_.logits());
    if (size_.reduces) tally_.pass_communication(work_.sum_statistics(2 * work_.chunk_tokens()));
    if (with_gradients) {
      tally_.pass_workspace(work_.weight_gradient(work_.local_vocabulary(), hidden_));
    }
    tally_.logits(-work_.logits());
    release_normed();
    if (with_gradients) reduce();
    tally_.activations(-size_.local_hidden);
    tally_.workspace(-size_.statistics);
  }

  const StageShape& stage_;
  const BlockSizes size_;
  const Workspace work_;
  const int64_t hidden_;
  Tally tally_;
};

}  // namespace

StageMemory stage_memory(const StageShape& stage) {
  const BlockSizes size(stage);
  const int64_t per_layer =
      size.local_hidden + (stage.activation_checkpointing ? 0 : Replay(stage).inner_kept());
  return {.forward = Replay(stage).forward(),
          .backward = Replay(stage).backward(),
          .evaluate = Replay(stage).evaluate(),
          .kept = stage.layers * per_layer + (stage.has_head ? size.local_hidden : 0),
          .boundary = size.local_hidden,
          .constants = stage.sequence_length * stage.model.head_dim * size.wide};
}

}  // namespace caravan::planner
