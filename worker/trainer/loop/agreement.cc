#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace caravan::trainer {

bool StepVerdict::finite() const {
  return std::isfinite(loss_sum) && std::isfinite(gradient_norm);
}

StepVerdict agree(Communicator& world, const StepShare& share) {
  at::Tensor shares = at::empty({world.size(), 3}, at::kDouble);
  at::Tensor own = shares.narrow(0, world.rank(), 1);
  double* mine = own.data_ptr<double>();
  mine[0] = share.loss_sum;
  mine[1] = share.squared_gradient_norm;
  mine[2] = share.stop_after_step;
  world.all_gather(shares, own);

  StepVerdict verdict;
  double squared_norm = 0;
  const auto* rank = shares.data_ptr<double>();
  for (int r = 0; r < world.size(); ++r, rank += 3) {
    verdict.loss_sum += rank[0];
    squared_norm += rank[1];
    verdict.stop_after_step = std::min(verdict.stop_after_step, static_cast<int>(rank[2]));
  }
  verdict.gradient_norm = std::sqrt(squared_norm);
  return verdict;
}

}  // namespace caravan::trainer
