#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace caravan::trainer {
namespace {

// A row of each rank.
template <std::size_t kColumns>
at::Tensor gather(Communicator& world, const std::array<double, kColumns>& own) {
  at::Tensor rows = at::empty({world.size(), kColumns}, at::kDouble);
  at::Tensor mine = rows.narrow(0, world.rank(), 1);
  std::ranges::copy(own, mine.data_ptr<double>());
  world.all_gather(rows, mine);
  return rows;
}

void add(const double* share, int rank, SaveVerdict& verdict) {
  const auto progress = static_cast<SaveProgress>(static_cast<int>(share[1]));
  if (rank == 0) verdict.asked = share[0] != 0;
  if (progress == SaveProgress::UnderWay && !verdict.under_way) verdict.under_way = rank;
  if (progress == SaveProgress::Failed && !verdict.failed_rank) verdict.failed_rank = rank;
}

}  // namespace

bool StepVerdict::finite() const {
  return std::isfinite(loss_sum) && std::isfinite(gradient_norm);
}

StepVerdict agree(Communicator& world, const StepShare& share) {
  const at::Tensor shares = gather<5>(
      world, {share.loss_sum, share.squared_gradient_norm, static_cast<double>(share.stop_after_step),
              share.save.asks ? 1.0 : 0.0, static_cast<double>(share.save.progress)});
  StepVerdict verdict;
  double squared_norm = 0;
  const auto* rank = shares.data_ptr<double>();
  for (int r = 0; r < world.size(); ++r, rank += 5) {
    verdict.loss_sum += rank[0];
    squared_norm += rank[1];
    verdict.stop_after_step = std::min(verdict.stop_after_step, static_cast<int>(rank[2]));
    add(rank + 3, r, verdict.save);
  }
  verdict.gradient_norm = std::sqrt(squared_norm);
  return verdict;
}

SaveVerdict agree_on_save(Communicator& world, const SaveShare& share) {
  const at::Tensor shares = gather<2>(world, {share.asks ? 1.0 : 0.0, static_cast<double>(share.progress)});
  SaveVerdict verdict;
  const auto* rank = shares.data_ptr<double>();
  for (int r = 0; r < world.size(); ++r, rank += 2) add(rank, r, verdict);
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
