#include "worker/trainer/optim/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "planner/work/constants.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/optim/gradient_sync.h"

namespace caravan::trainer {
namespace {

at::Tensor view(const at::Tensor& flat, int64_t offset, int64_t elements) {
  return flat.narrow(0, offset, elements);
}

at::Tensor view(const at::Tensor& flat, FlatRange range) {
  return view(flat, range.offset, range.elements);
}

at::Tensor state(const at::Tensor& states, const UpdateRange& range) {
  return view(states, range.state_offset, range.values.elements);
}

DataShard updated_shard(const Communicator& data, int zero_stage) {
  return zero_stage >= 1 ? DataShard{.rank = data.rank(), .size = data.size()} : DataShard{};
}

// A trial comes to the same bits as an update where both work on the same pieces.
Updates in_pieces(const Updates& whole) {
  using planner::kUpdateChunkElements;
  Updates pieces{.ranges = {}, .state_elements = whole.state_elements};
  for (const UpdateRange& range : whole.ranges) {
    for (int64_t begin = 0; begin < range.values.elements; begin += kUpdateChunkElements) {
      pieces.ranges.push_back(
          {.values = {.offset = range.values.offset + begin,
                      .elements = std::min(kUpdateChunkElements, range.values.elements - begin)},
           .state_offset = range.state_offset + begin,
           .weight_decay = range.weight_decay});
    }
  }
  return pieces;
}

}  // namespace

Optimizer::Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options,
                     const OptimizerPlace& place)
    : store_(store),
      data_(data),
      options_(options),
      shard_(updated_shard(data, place.zero_stage)),
      updates_(in_pieces(ranges_to_update(store.layout, shard_))) {
  const at::TensorOptions wide = store.gradients.options();
  states_.first_moment = at::zeros({updates_.state_elements}, wide);
  states_.second_moment = at::zeros({updates_.state_elements}, wide);
  steps_ = at::zeros(at::IntArrayRef{}, wide.dtype(at::kFloat));
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

Optimizer::Piece Optimizer::piece(const UpdateRange& range) const {
  return {.weights = weights(range),
          .gradients = view(store_.gradients, range.values),
          .first = state(states_.first_moment, range),
          .second = state(states_.second_moment, range)};
}

int Optimizer::updates() const {
  return static_cast<int>(steps_.item<float>());
}

void Optimizer::set_updates(int updates) {
  steps_.fill_(updates);
}

void Optimizer::update(double learning_rate, double gradient_scale) {
  if (gradient_scale != 1) {
    for (const UpdateRange& range : updates_.ranges)
      view(store_.gradients, range.values).mul_(gradient_scale);
  }
  advance(learning_rate);
  if (states_.master.defined()) {
    for (const UpdateRange& range : updates_.ranges) view(store_.values, range.values).copy_(weights(range));
  }
  publish();
}

void Optimizer::advance(double learning_rate) {
  steps_.add_(1);
  for (const bool weight_decay : {true, false}) {
    std::vector<Piece> pieces;
    for (const UpdateRange& range : updates_.ranges) {
      if (range.weight_decay == weight_decay) pieces.push_back(piece(range));
    }
    update_pieces(pieces, weight_decay, learning_rate);
  }
}

void Optimizer::publish() {
  if (shard_.size > 1) gather_slices(store_.layout, store_.values, data_);
}

void Optimizer::try_update(double learning_rate) {
  const ChargeAs charge(MemoryUse::Workspace);
  const int64_t elements = std::min(planner::kUpdateChunkElements, updates_.state_elements);
  const at::Tensor trial = at::empty({3, elements}, store_.gradients.options());
  steps_.add_(1);
  for (const UpdateRange& range : updates_.ranges) {
    const Piece real = piece(range);
    const auto copy = [&](int row, const at::Tensor& from) {
      return view(trial[row], 0, range.values.elements).copy_(from);
    };
    const Piece tried{.weights = copy(0, real.weights),
                      .gradients = real.gradients,
                      .first = copy(1, real.first),
                      .second = copy(2, real.second)};
    update_pieces({&tried, 1}, range.weight_decay, learning_rate);
    if (untried_.defined()) state(untried_, range).copy_(real.weights);
    view(store_.values, range.values).copy_(tried.weights);
  }
  steps_.sub_(1);
  publish();
}

void Optimizer::confirm(double learning_rate) {
  if (untried_.defined()) restore();
  advance(learning_rate);
}

void Optimizer::take_back() {
  restore();
  publish();
}

void Optimizer::restore() {
  for (const UpdateRange& range : updates_.ranges) {
    const at::Tensor before = untried_.defined() ? state(untried_, range) : weights(range);
    view(store_.values, range.values).copy_(before);
  }
}

void Optimizer::update_pieces(std::span<const Piece> pieces, bool weight_decay, double learning_rate) const {
  if (pieces.empty()) return;
  std::vector<at::Tensor> values, gradients, first, second;
  for (const Piece& each : pieces) {
    values.push_back(each.weights);
    gradients.push_back(each.gradients);
    first.push_back(each.first);
    second.push_back(each.second);
  }
  const std::vector<at::Tensor> steps(pieces.size(), steps_);
  at::_fused_adamw_(values, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, learning_rate,
                    options_.beta1, options_.beta2, weight_decay ? options_.weight_decay : 0,
                    options_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
}

}  // namespace caravan::trainer
