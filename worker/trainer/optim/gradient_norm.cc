#include "worker/trainer/optim/gradient_norm.h"

#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/kernels/sum_of_squares.h"

namespace caravan::trainer {

at::Tensor sum_of_squares(const at::Tensor& flat, const std::vector<FlatRange>& ranges) {
  at::Tensor sum = kernels::zero_where(flat);
  for (const FlatRange& range : ranges) kernels::add_sum_of_squares(view(flat, range), sum);
  return sum;
}

}  // namespace caravan::trainer
