#include "worker/trainer/optim/gradient_sync.h"

#include <fmt/format.h>

#include <utility>

#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {
namespace {

at::Tensor view(const at::Tensor& flat, const Bucket& bucket) {
  return flat.narrow(0, bucket.offset, bucket.elements);
}

DataShard shard_of(const Communicator& data) {
  return {.rank = data.rank(), .size = data.size()};
}

Collective sum_of(const Bucket& bucket, const at::Tensor& gradients, const Communicator& data,
                  int zero_stage) {
  const at::Tensor whole = view(gradients, bucket);
  if (zero_stage == 0) return {.kind = Collective::Kind::AllReduce, .output = whole};
  return {.kind = Collective::Kind::ReduceScatter,
          .output = view(gradients, slice_of(bucket, shard_of(data))),
          .input = whole};
}

}  // namespace

GradientSums::GradientSums(ParameterStore& store, Mesh& mesh, const GradientSyncOptions& options,
                           int64_t contributions)
    : store_(store),
      mesh_(mesh),
      options_(options),
      contributions_(contributions),
      sums_(store.layout.buckets.size()) {
  for (Sum& sum : sums_) sum.awaited = contributions;
}

void GradientSums::added(int bucket) {
  const int64_t awaited = --sums_[static_cast<std::size_t>(bucket)].awaited;
  if (awaited == 0 && mesh_.data->overlaps()) begin(bucket);
}

void GradientSums::finish() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!sums_[i].under_way) begin(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].awaited = contributions_;
    await(std::move(sums_[i].under_way), fmt::format("the gradients of {}", store_.layout.buckets[i].name));
  }
  add_up_replicated();
  add_up_tied();
}

void GradientSums::begin(int bucket) {
  const auto number = static_cast<std::size_t>(bucket);
  sums_[number].under_way = mesh_.data->start(
      sum_of(store_.layout.buckets[number], store_.gradients, *mesh_.data, options_.zero_stage));
}

at::Tensor GradientSums::answered_for(const Parameter& parameter) const {
  const Bucket& bucket = store_.layout.buckets[static_cast<std::size_t>(parameter.bucket)];
  const DataShard shard = options_.zero_stage == 0 ? DataShard{} : shard_of(*mesh_.data);
  return view(store_.gradients,
              intersection(slice_of(bucket, shard), {parameter.offset, parameter.elements}));
}

// Ranks of the tensor group take it from one sum, since their data groups may add in different orders. With
// sequence parallelism each has seen its own tokens only; without it the first one has the whole.
void GradientSums::add_up_replicated() {
  const bool is_whole = !options_.sequence_parallel;
  for (const Parameter& parameter : store_.layout.parameters) {
    if (!parameter.replicated_over_tensor) continue;
    at::Tensor gradient = answered_for(parameter);
    if (gradient.numel() == 0) continue;
    if (is_whole && mesh_.tensor->rank() != 0) gradient.zero_();
    mesh_.tensor->all_reduce(gradient, Reduction::Sum);
  }
}

// A sum of two terms has the same bits on both sides.
void GradientSums::add_up_tied() {
  for (const Parameter& parameter : store_.layout.parameters) {
    if (!parameter.tied_copy) continue;
    at::Tensor gradient = answered_for(parameter);
    if (gradient.numel() == 0) continue;
    mesh_.embedding->all_reduce(gradient, Reduction::Sum);
  }
}

std::unique_ptr<PendingTransfer> start_gathering(const Bucket& bucket, const at::Tensor& flat,
                                                 Communicator& data) {
  return data.start({.kind = Collective::Kind::AllGather,
                     .output = view(flat, bucket),
                     .input = view(flat, slice_of(bucket, shard_of(data)))});
}

}  // namespace caravan::trainer
