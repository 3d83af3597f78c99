#include "worker/trainer/optim/gradient_sync.h"

#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {
namespace {

at::Tensor view(const at::Tensor& flat, FlatRange range) {
  return flat.narrow(0, range.offset, range.elements);
}

at::Tensor view(const at::Tensor& flat, const Bucket& bucket) {
  return flat.narrow(0, bucket.offset, bucket.elements);
}

DataShard shard_of(const Communicator& data) {
  return {.rank = data.rank(), .size = data.size()};
}

// With sequence parallelism each rank of the tensor group has seen only its own tokens.
void sum_replicated(ParameterStore& store, Communicator& tensor) {
  for (const Parameter& parameter : store.layout.parameters) {
    if (!parameter.replicated_over_tensor) continue;
    at::Tensor gradient = store.gradient(parameter);
    tensor.all_reduce(gradient, Reduction::Sum);
  }
}

void sum_over_data(ParameterStore& store, Communicator& data, int zero_stage) {
  for (const Bucket& bucket : store.layout.buckets) {
    at::Tensor whole = view(store.gradients, bucket);
    if (zero_stage == 0) {
      data.all_reduce(whole, Reduction::Sum);
    } else {
      at::Tensor own = view(store.gradients, slice_of(bucket, shard_of(data)));
      data.reduce_scatter(own, whole);
    }
  }
}

// Last, and of as much as the rank answers for: a sum of two terms has the same bits on both sides, so the
// two copies of the table never drift apart.
void sum_tied(ParameterStore& store, Mesh& mesh, int zero_stage) {
  const DataShard shard = zero_stage == 0 ? DataShard{} : shard_of(*mesh.data);
  for (const Parameter& parameter : store.layout.parameters) {
    if (!parameter.tied_copy) continue;
    const Bucket& bucket = store.layout.buckets[static_cast<std::size_t>(parameter.bucket)];
    at::Tensor gradient = view(store.gradients, slice_of(bucket, shard));
    mesh.embedding->all_reduce(gradient, Reduction::Sum);
  }
}

}  // namespace

void sum_gradients(ParameterStore& store, Mesh& mesh, const GradientSyncOptions& options) {
  if (options.sequence_parallel) sum_replicated(store, *mesh.tensor);
  sum_over_data(store, *mesh.data, options.zero_stage);
  sum_tied(store, mesh, options.zero_stage);
}

void gather_slices(const ParameterLayout& layout, const at::Tensor& flat, Communicator& data) {
  for (const Bucket& bucket : layout.buckets) {
    at::Tensor whole = view(flat, bucket);
    data.all_gather(whole, view(flat, slice_of(bucket, shard_of(data))));
  }
}

}  // namespace caravan::trainer
