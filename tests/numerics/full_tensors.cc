#include "tests/numerics/full_tensors.h"

#include <ATen/ATen.h>

namespace caravan::numerics {
namespace {

// visit(part, the part's rows in the fused tensor without padding)
template <typename Visit>
void for_each_part(const trainer::Parameter& parameter, const at::Tensor& fused, Visit visit) {
  int64_t row = 0;
  for (const trainer::ParameterPart& part : parameter.parts) {
    const int64_t rows = part.local_shape()[0];
    const at::Tensor local = fused.narrow(0, row, rows);
    visit(part, part.shard_dimension < 0 ? local : local.narrow(part.shard_dimension, 0, part.shard_real));
    row += rows;
  }
}

at::Tensor shard_of(const at::Tensor& full, const trainer::ParameterPart& part) {
  if (part.shard_dimension < 0 || part.shard_real == 0) return full;
  return full.narrow(part.shard_dimension, part.shard_begin, part.shard_real);
}

}  // namespace

void load_weights(trainer::ParameterStore& store, const NamedTensors& weights) {
  for (const trainer::Parameter& parameter : store.layout.parameters)
    for_each_part(parameter, store.value(parameter),
                  [&](const trainer::ParameterPart& part, at::Tensor local) {
                    if (local.numel() > 0) local.copy_(shard_of(weights.at(part.name).detach(), part));
                  });
}

void add_gradients(const trainer::ParameterStore& store, int tensor_rank, NamedTensors& full) {
  for (const trainer::Parameter& parameter : store.layout.parameters) {
    if (parameter.replicated_over_tensor && tensor_rank != 0) continue;
    for_each_part(parameter, store.gradient(parameter),
                  [&](const trainer::ParameterPart& part, const at::Tensor& local) {
                    at::Tensor& tensor = full[part.name];
                    if (!tensor.defined()) tensor = at::zeros(part.full_shape, local.options());
                    if (local.numel() > 0) shard_of(tensor, part).add_(local);
                  });
  }
}

}  // namespace caravan::numerics
