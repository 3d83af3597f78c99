#include "worker/trainer/optim/optimizer.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <utility>

#include "worker/trainer/optim/gradient_sync.h"

namespace caravan::trainer {
namespace {

at::Tensor state(const at::Tensor& states, const UpdateRange& range) {
  return states.narrow(0, range.state_offset, range.values.elements);
}

// What is rounded at random goes by the tensors of the model.
Updates updates_of(const ParameterLayout& layout, DataShard shard, const AdamWOptions& options) {
  return options.bf16_moments ? ranges_by_tensor(layout, shard, options.seed)
                              : ranges_to_update(layout, shard);
}

DataShard updated_shard(const Communicator& data, int zero_stage) {
  return zero_stage >= 1 ? DataShard{.rank = data.rank(), .size = data.size()} : DataShard{};
}

}  // namespace

Optimizer::Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options,
                     const OptimizerPlace& place)
    : store_(store),
      data_(data),
      options_(options),
      shard_(updated_shard(data, place.zero_stage)),
      updates_(updates_of(store.layout, shard_, options)),
      gathered_(store.layout.buckets.size()) {
  const at::TensorOptions wide = store.gradients.options();
  const at::TensorOptions moments = options.bf16_moments ? wide.dtype(at::kBFloat16) : wide;
  states_.first_moment = at::zeros({updates_.state_elements}, moments);
  states_.second_moment = at::zeros({updates_.state_elements}, moments);
  if (store.values.scalar_type() == store.gradients.scalar_type()) {
    if (place.tries_updates) untried_ = at::zeros({updates_.state_elements}, wide);
    return;
  }
  states_.master = at::zeros({updates_.state_elements}, wide);
  for (const UpdateRange& range : updates_.ranges) weights(range).copy_(view(store.values, range.values));
}

at::Tensor Optimizer::weights(const UpdateRange& range) const {
  if (states_.master.defined()) return state(states_.master, range);
  return view(store_.values, range.values);
}

kernels::AdamWTensors Optimizer::tensors(const UpdateRange& range) const {
  return {.weights = weights(range),
          .gradients = view(store_.gradients, range.values),
          .first_moment = state(states_.first_moment, range),
          .second_moment = state(states_.second_moment, range),
          .values = view(store_.values, range.values)};
}

kernels::AdamW Optimizer::next(const UpdateRange& range, double learning_rate, double gradient_scale) const {
  return {.learning_rate = learning_rate,
          .beta1 = options_.beta1,
          .beta2 = options_.beta2,
          .epsilon = options_.epsilon,
          .weight_decay = range.weight_decay ? options_.weight_decay : 0,
          .step = updates_done_ + 1,
          .gradient_scale = gradient_scale,
          .rounding_key = range.rounding_key,
          .numbers = range.numbers};
}

void Optimizer::update(double learning_rate, double gradient_scale) {
  await_values();
  advance(learning_rate, gradient_scale);
  publish();
}

void Optimizer::advance(double learning_rate, double gradient_scale) {
  for (const UpdateRange& range : updates_.ranges)
    kernels::adamw(tensors(range), next(range, learning_rate, gradient_scale));
  ++updates_done_;
  forget_gradients_of_others();
}

// What the sums over the data group have left in slices that other ranks update.
void Optimizer::forget_gradients_of_others() {
  for (const Bucket& bucket : store_.layout.buckets) {
    const FlatRange own = slice_of(bucket, shard_);
    store_.gradients.narrow(0, bucket.offset, own.offset - bucket.offset).zero_();
    const int64_t end = own.offset + own.elements;
    store_.gradients.narrow(0, end, bucket.offset + bucket.elements - end).zero_();
  }
}

void Optimizer::publish() {
  if (shard_.size == 1) return;
  for (std::size_t i = 0; i < gathered_.size(); ++i)
    gathered_[i] = start_gathering(store_.layout.buckets[i], store_.values, data_);
}

void Optimizer::await_values(int bucket) {
  const auto number = static_cast<std::size_t>(bucket);
  if (!gathered_[number]) return;
  await(std::move(gathered_[number]), fmt::format("the values of {}", store_.layout.buckets[number].name));
}

void Optimizer::await_values() {
  for (std::size_t i = 0; i < gathered_.size(); ++i) await_values(static_cast<int>(i));
}

void Optimizer::try_update(double learning_rate) {
  await_values();
  for (const UpdateRange& range : updates_.ranges) {
    kernels::AdamWTensors trial = tensors(range);
    if (untried_.defined()) trial.weights = state(untried_, range).copy_(trial.weights);
    kernels::adamw_values(trial, next(range, learning_rate, 1));
  }
  publish();
}

void Optimizer::confirm(double learning_rate) {
  await_values();
  if (untried_.defined()) restore();
  advance(learning_rate, 1);
}

void Optimizer::take_back() {
  await_values();
  restore();
  publish();
}

void Optimizer::restore() {
  for (const UpdateRange& range : updates_.ranges) {
    const at::Tensor before = untried_.defined() ? state(untried_, range) : weights(range);
    view(store_.values, range.values).copy_(before);
  }
}

}  // namespace caravan::trainer
