#include <algorithm>

#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {
namespace {

// A block of whole rows is one run of the full tensor's elements, a block of columns one run per row.
void fill_part(at::Tensor block, const ParameterPart& part, uint64_t key, double deviation) {
  const int64_t full_columns = part.full_shape[1];
  if (part.shard_dimension != 1) {
    at::Tensor real = block.narrow(0, 0, part.shard_real).flatten();
    kernels::fill_normal(real, key, part.shard_begin * full_columns, deviation);
    return;
  }
  for (int64_t row = 0; row < block.size(0); ++row) {
    at::Tensor real = block[row].narrow(0, 0, part.shard_real);
    kernels::fill_normal(real, key, row * full_columns + part.shard_begin, deviation);
  }
}

}  // namespace

void initialise_parameters(ParameterStore& store, uint64_t seed) {
  for (const Parameter& parameter : store.layout.parameters) {
    at::Tensor value = store.value(parameter);
    if (parameter.initialisation == Initialisation::One) {
      value.fill_(1);
      continue;
    }
    int64_t row = 0;
    for (const ParameterPart& part : parameter.parts) {
      const int64_t rows = part.local_shape()[0];
      fill_part(value.narrow(0, row, rows), part, kernels::random_key(seed, part.name),
                parameter.standard_deviation);
      row += rows;
    }
  }
}

}  // namespace caravan::trainer
