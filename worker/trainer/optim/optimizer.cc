#include "worker/trainer/optim/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>

#include "worker/trainer/optim/gradient_sync.h"

namespace caravan::trainer {
namespace {

at::Tensor view(const at::Tensor& flat, int64_t offset, int64_t elements) {
  return flat.narrow(0, offset, elements);
}

at::Tensor view(const at::Tensor& flat, FlatRange range) {
  return view(flat, range.offset, range.elements);
}

DataShard updated_shard(const Communicator& data, int zero_stage) {
  return zero_stage >= 1 ? DataShard{.rank = data.rank(), .size = data.size()} : DataShard{};
}

}  // namespace

Optimizer::Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options, int zero_stage)
    : store_(store),
      data_(data),
      options_(options),
      shard_(updated_shard(data, zero_stage)),
      updates_(ranges_to_update(store.layout, shard_)) {
  const at::TensorOptions wide = store.gradients.options();
  states_.first_moment = at::zeros({updates_.state_elements}, wide);
  states_.second_moment = at::zeros({updates_.state_elements}, wide);
  steps_ = at::zeros(at::IntArrayRef{}, wide.dtype(at::kFloat));
  if (store.values.scalar_type() == store.gradients.scalar_type()) return;
  states_.master = at::zeros({updates_.state_elements}, wide);
  for (const UpdateRange& range : updates_.ranges) weights(range).copy_(view(store.values, range.values));
}

at::Tensor Optimizer::weights(const UpdateRange& range) const {
  if (states_.master.defined()) return view(states_.master, range.state_offset, range.values.elements);
  return view(store_.values, range.values);
}

int Optimizer::updates() const {
  return static_cast<int>(steps_.item<float>());
}

void Optimizer::set_updates(int updates) {
  steps_.fill_(updates);
}

void Optimizer::update(double learning_rate, double gradient_scale) {
  steps_.add_(1);
  update_group(true, learning_rate, gradient_scale);
  update_group(false, learning_rate, gradient_scale);
  if (states_.master.defined()) {
    for (const UpdateRange& range : updates_.ranges) view(store_.values, range.values).copy_(weights(range));
  }
  if (shard_.size > 1) gather_slices(store_.layout, store_.values, data_);
}

void Optimizer::update_group(bool weight_decay, double learning_rate, double gradient_scale) {
  std::vector<at::Tensor> values, gradients, first, second, steps;
  for (const UpdateRange& range : updates_.ranges) {
    if (range.weight_decay != weight_decay) continue;
    values.push_back(weights(range));
    gradients.push_back(view(store_.gradients, range.values));
    if (gradient_scale != 1) gradients.back().mul_(gradient_scale);
    first.push_back(view(states_.first_moment, range.state_offset, range.values.elements));
    second.push_back(view(states_.second_moment, range.state_offset, range.values.elements));
    steps.push_back(steps_);
  }
  if (values.empty()) return;
  at::_fused_adamw_(values, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, learning_rate,
                    options_.beta1, options_.beta2, weight_decay ? options_.weight_decay : 0,
                    options_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
}

}  // namespace caravan::trainer
