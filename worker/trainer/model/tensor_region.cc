#include "worker/trainer/model/tensor_region.h"

#include <ATen/ops/empty.h>

#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {

at::Tensor TensorRegion::enter(at::Tensor local_TD) const {
  if (!by_tokens_) return local_TD;
  const ChargeAs charge(MemoryUse::Communication);
  at::Tensor all_TD = at::empty({local_TD.size(0) * group_.size(), local_TD.size(1)}, local_TD.options());
  group_.all_gather(all_TD, local_TD);
  local_TD.reset();  // before the caller's statement ends
  return all_TD;
}

at::Tensor TensorRegion::leave(at::Tensor partial_TD) const {
  if (group_.size() == 1) return partial_TD;
  if (!by_tokens_) {
    group_.all_reduce(partial_TD, Reduction::Sum);
    return partial_TD;
  }
  at::Tensor local_TD =
      at::empty({partial_TD.size(0) / group_.size(), partial_TD.size(1)}, partial_TD.options());
  group_.reduce_scatter(local_TD, partial_TD);
  return local_TD;
}

}  // namespace caravan::trainer
