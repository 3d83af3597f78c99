// One row of the table of work: an operation of a block, with all that it costs.
//
// Memory, time, FLOPs and traffic are sums over rows. Rows stand in the order in which the trainer runs them,
// and each does what it says in this order: allocates `takes`, runs with `moment` on top, gives `frees` back.
// A row that is not the end of something is one call in worker/trainer/model.
//
// Shapes: T tokens, O outputs, I inputs of a linear layer, of this rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/mesh.h"

namespace caravan::planner {

enum class Phase : uint8_t { Forward, Recompute, Backward, WeightGradient };

// Tensors of a layer that its backward may find, or make again.
enum class SavedRow : uint8_t {
  Input,
  AttentionScale,
  QueryKeyValue,
  AttentionOutput,
  LogSums,
  Middle,
  MlpScale,
  GateUp,
  Tokens,        // of the stage with the embedding
  HeadGradient,  // by the head's input, which its forward has made
};

// Bytes by what they are used for.
struct MemoryUse {
  int64_t activations = 0;  // saved rows, and the activations and gradients that products make
  int64_t logits = 0;
  int64_t workspace = 0;      // normed and gated activations, and temporary tensors of kernels
  int64_t communication = 0;  // results and buffers of collectives of the tensor group
  bool operator==(const MemoryUse&) const = default;

  constexpr int64_t total() const { return activations + logits + workspace + communication; }
  constexpr MemoryUse& operator+=(const MemoryUse& other) {
    activations += other.activations;
    logits += other.logits;
    workspace += other.workspace;
    communication += other.communication;
    return *this;
  }
  friend constexpr MemoryUse operator+(MemoryUse a, const MemoryUse& b) { return a += b; }
  friend constexpr MemoryUse operator*(int64_t n, const MemoryUse& use) {
    return {n * use.activations, n * use.logits, n * use.workspace, n * use.communication};
  }
  friend constexpr MemoryUse operator-(const MemoryUse& a, const MemoryUse& b) { return a + -1 * b; }
};

// Of a linear layer: forward, by its input or by its weight, all have as many operations.
struct Product {
  int64_t tokens = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  int64_t weight_bytes = 0;  // of the weight, or its gradient, that goes through memory
  bool operator==(const Product&) const = default;

  constexpr double flops() const {
    return 2.0 * static_cast<double>(tokens) * static_cast<double>(outputs) * static_cast<double>(inputs);
  }
};

// Causal attention: products of S × S scores, half of which a mask leaves, and S × E with all E tokens
// before.
struct Attention {
  int64_t sequences = 0;
  int64_t tokens = 0;   // of each, at work
  int64_t earlier = 0;  // in segments before them
  int64_t heads = 0;
  int64_t head_dim = 0;
  // Forward two; backward five, since it computes the scores again (Dao, arXiv 2307.08691).
  int64_t products = 0;

  constexpr double causal_flops() const {
    const auto own = static_cast<double>(tokens);
    return static_cast<double>(products * sequences * heads * head_dim) * own *
           (own + 2 * static_cast<double>(earlier));
  }
  // Of plain products, which compute what the mask leaves out as well.
  constexpr double all_flops() const {
    const auto own = static_cast<double>(tokens);
    return static_cast<double>(products * sequences * heads * head_dim) * 2 * own *
           (own + static_cast<double>(earlier));
  }
};

enum class CollectiveKind : uint8_t { AllReduce, AllGather, ReduceScatter };

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Axis axis = Axis::Tensor;
  int64_t bytes = 0;  // of the whole tensor; 0: there is none
  bool operator==(const Collective&) const = default;
};

struct Operation {
  std::string_view name;
  Phase phase = Phase::Forward;
  std::optional<SavedRow> makes = {};  // forward: the saved row that it is there for
  // Runs of tokens, one after the other; neighbours with as many take turns. Product, collective and moved
  // bytes are those of all of them together, what is allocated that of one.
  int64_t pieces = 1;
  Product product = {};
  Attention attention = {};
  Collective collective = {};
  // Bytes of activations that go through memory: each tensor counts where it is made, and weight gradients
  // count what they read.
  int64_t moved = 0;
  MemoryUse takes = {};
  MemoryUse moment = {};
  MemoryUse frees = {};
  // A backward in two parts: a gradient of weights that waits for the second, with what it needs.
  bool may_wait = false;
  MemoryUse waits = {};  // of frees: what such a gradient needs
};

using Operations = std::vector<Operation>;

}  // namespace caravan::planner
