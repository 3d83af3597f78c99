#include "worker/trainer/optim/gradient_norm.h"

#include "worker/trainer/kernels/sum_of_squares.h"

namespace caravan::trainer {

double sum_of_squares(const at::Tensor& flat, const std::vector<FlatRange>& ranges) {
  double sum = 0;
  for (const FlatRange& range : ranges)
    sum += kernels::sum_of_squares(flat.narrow(0, range.offset, range.elements));
  return sum;
}

}  // namespace caravan::trainer
