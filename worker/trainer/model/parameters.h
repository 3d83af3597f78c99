// The parameters of one rank: where each lives in the rank's flat buffers, how it is cut over the tensor
// parallel group, and how it is initialised.
//
// Values of a stage lie in one flat buffer of the storage type, gradients in one of fp32 (fp64 in fp64
// models, for tests). Both are cut into buckets (embedding, one per layer, final norm, head), each padded to
// a multiple of `padding`, so that a bucket can be reduce-scattered as a whole. A table of embeddings fills a
// bucket by itself, so that both copies of a tied one are cut alike; a rank with both ends of the model, as
// of a pipeline that comes back to its first stage, has one. Initial values depend on seed, name and global
// element index only, never on the layout.
//
// The stage adds to gradients what this rank knows; three sums are left to the engine, once per step:
//
//  - over the data group: every gradient;
//  - over the tensor group: those with `replicated_over_tensor` (with sequence parallelism each rank has seen
//    its own tokens only; without it all have the whole gradient, and the first one's is taken);
//  - over the embedding group: those with `tied_copy` (the stages with embedding and head each hold the
//    table).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/model/shape.h"
#include "planner/placement.h"

namespace caravan::trainer {

// What one pipeline stage and one tensor parallel rank hold.
struct StagePlacement {
  std::vector<planner::LayerGroup> chunks;  // of the stage's layers
  int tensor_rank = 0;
  int tensor_size = 1;

  bool has_embedding() const;
  bool has_head() const;
};

enum class Initialisation { Normal, One };

// A contiguous block of rows or columns of one Hugging Face tensor. Fused parameters hold several, stacked
// along dimension 0.
struct ParameterPart {
  std::string name;                 // as Hugging Face: model.layers.3.self_attn.q_proj.weight
  std::vector<int64_t> full_shape;  // without vocabulary padding
  int shard_dimension = -1;         // cut over the tensor group; -1: replicated
  int64_t shard_begin = 0;          // in the shard dimension of the full tensor
  int64_t shard_size = 0;           // of this rank, padding included
  int64_t shard_real = 0;           // without padding: rows from here on are zero and stay zero

  std::vector<int64_t> local_shape() const;  // padding included
};

struct Parameter {
  std::string name;            // of the fused tensor: layers.3.qkv
  std::vector<int64_t> shape;  // local
  std::vector<ParameterPart> parts;
  Initialisation initialisation = Initialisation::Normal;
  double standard_deviation = 0.02;
  bool weight_decay = true;  // norms have none
  bool replicated_over_tensor = false;
  // Tied embeddings on more than one pipeline stage: the stages with embedding and head hold the same table
  // under the same name. It counts once in norms and checkpoints: on the stage with the embedding.
  bool tied_copy = false;
  int bucket = 0;
  int64_t offset = 0;  // elements from the start of the flat buffers
  int64_t elements = 0;
};

struct Bucket {
  std::string name;
  int64_t offset = 0;
  int64_t elements = 0;  // padded
};

struct ParameterLayout {
  std::vector<Parameter> parameters;
  std::vector<Bucket> buckets;
  int64_t elements = 0;  // of the flat buffers

  // By the name of the fused tensor.
  bool has(std::string_view name) const;
  const Parameter& find(std::string_view name) const;  // absent: throws std::out_of_range
};

// heads, kv_heads and ffn are multiples of the tensor size; the vocabulary is padded to one.
ParameterLayout lay_out_parameters(const planner::ModelShape& model, const StagePlacement& placement,
                                   int64_t padding);

struct ParameterView {
  at::Tensor value;
  at::Tensor gradient;
};

struct ParameterStore {
  ParameterLayout layout;
  at::Tensor values;     // flat, storage type
  at::Tensor gradients;  // flat, fp32 or fp64; undefined where only forwards run

  at::Tensor value(const Parameter& parameter) const;     // view in the parameter's shape
  at::Tensor gradient(const Parameter& parameter) const;  // view in the parameter's shape
  ParameterView view(std::string_view name) const;        // both
};

// Zeros. storage: type and device; gradients are on the same device.
ParameterStore allocate_values(ParameterLayout layout, const at::TensorOptions& storage);
void allocate_gradients(ParameterStore& store);
void initialise_parameters(ParameterStore& store, uint64_t seed);

}  // namespace caravan::trainer
