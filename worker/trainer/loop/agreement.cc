#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

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

int largest(Communicator& world, int own) {
  at::Tensor all = at::empty({world.size()}, at::kDouble);
  at::Tensor mine = all.narrow(0, world.rank(), 1);
  mine.fill_(own);
  world.all_gather(all, mine);
  return static_cast<int>(all.max().item<double>());
}

std::vector<int> as_the_first(Communicator& world, const std::vector<int>& own) {
  at::Tensor count = at::full({1}, static_cast<double>(own.size()), at::kDouble);
  world.broadcast(count, 0);
  at::Tensor values = at::zeros({static_cast<int64_t>(count.item<double>())}, at::kDouble);
  if (values.numel() == 0) return {};
  if (world.rank() == 0) std::copy(own.begin(), own.end(), values.data_ptr<double>());
  world.broadcast(values, 0);
  const double* first = values.data_ptr<double>();
  return {first, first + values.numel()};
}

}  // namespace caravan::trainer
