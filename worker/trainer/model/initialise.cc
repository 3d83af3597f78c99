#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/model/owned_parts.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

void initialise_parameters(ParameterStore& store, uint64_t seed) {
  const auto parts =
      owned_parts(store.layout, /*placement=*/{}, whole_buckets(store.layout), Selection::Everything);
  for (const OwnedPart& owned : parts) {
    const uint64_t key = kernels::random_key(seed, owned.part.name);
    for_each_run(owned, [&](const Run& run) {
      at::Tensor values = store.values.narrow(0, run.values.offset, run.values.elements);
      if (owned.parameter.initialisation == Initialisation::One) {
        values.fill_(1);
      } else {
        kernels::fill_normal(values, key, run.first_full, owned.parameter.standard_deviation);
      }
    });
  }
}

}  // namespace caravan::trainer
