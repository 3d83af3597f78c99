#include "tests/numerics/full_tensors.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "worker/trainer/model/owned_parts.h"

namespace caravan::numerics {
namespace {

using trainer::OwnedPart;
using trainer::Run;

std::vector<OwnedPart> all_parts(const trainer::ParameterLayout& layout) {
  return owned_parts(layout, /*placement=*/{}, whole_buckets(layout), trainer::Selection::Everything);
}

at::Tensor local(const at::Tensor& flat, const Run& run) {
  return flat.narrow(0, run.values.offset, run.values.elements);
}

at::Tensor full_view(const at::Tensor& full, const Run& run) {
  return full.view(-1).narrow(0, run.first_full, run.values.elements);
}

}  // namespace

void load_weights(trainer::ParameterStore& store, const NamedTensors& weights) {
  for (const OwnedPart& owned : all_parts(store.layout)) {
    const at::Tensor full = weights.at(owned.part.name).detach().contiguous();
    for_each_run(owned, [&](const Run& run) { local(store.values, run).copy_(full_view(full, run)); });
  }
}

void sum_gradients(trainer::ParameterStore& store, trainer::Mesh& mesh,
                   const trainer::GradientSyncOptions& options) {
  trainer::GradientSums(store, mesh, options, /*contributions=*/0).finish();
  if (options.zero_stage == 0) return;
  for (const trainer::Bucket& bucket : store.layout.buckets)
    start_gathering(bucket, store.gradients, *mesh.data)->wait();
}

void add_gradients(const trainer::ParameterStore& store, int tensor_rank, NamedTensors& full) {
  for (const OwnedPart& owned : all_parts(store.layout)) {
    if (owned.parameter.replicated_over_tensor && tensor_rank != 0) continue;
    at::Tensor& tensor = full[owned.part.name];
    if (!tensor.defined()) tensor = at::zeros(owned.part.full_shape, store.gradients.options());
    for_each_run(owned, [&](const Run& run) { full_view(tensor, run).add_(local(store.gradients, run)); });
  }
}

}  // namespace caravan::numerics
