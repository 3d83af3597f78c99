#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "worker/trainer/comm/gather_rows.h"

namespace caravan::trainer {
namespace {

void add(double asks, double share_of_progress, int rank, SaveVerdict& verdict) {
  const auto progress = static_cast<SaveProgress>(static_cast<int>(share_of_progress));
  if (rank == 0) verdict.asked = asks != 0;
  if (progress == SaveProgress::UnderWay && !verdict.under_way) verdict.under_way = rank;
  if (progress == SaveProgress::Failed && !verdict.failed_rank) verdict.failed_rank = rank;
}

}  // namespace

bool StepVerdict::finite() const {
  return std::isfinite(loss_sum) && std::isfinite(gradient_norm);
}

StepVerdict agree(Communicator& world, const StepShare& share) {
  const auto rows = gather_rows<5>(
      world, {share.loss_sum, share.squared_gradient_norm, static_cast<double>(share.stop_after_step),
              share.save.asks ? 1.0 : 0.0, static_cast<double>(share.save.progress)});
  StepVerdict verdict;
  double squared_norm = 0;
  int rank = 0;
  for (const auto& [loss_sum, squared, stop_after_step, asks, progress] : rows) {
    verdict.loss_sum += loss_sum;
    squared_norm += squared;
    verdict.stop_after_step = std::min(verdict.stop_after_step, static_cast<int>(stop_after_step));
    add(asks, progress, rank++, verdict.save);
  }
  verdict.gradient_norm = std::sqrt(squared_norm);
  return verdict;
}

SaveVerdict agree_on_save(Communicator& world, const SaveShare& share) {
  SaveVerdict verdict;
  int rank = 0;
  for (const auto& [asks, progress] :
       gather_rows<2>(world, {share.asks ? 1.0 : 0.0, static_cast<double>(share.progress)}))
    add(asks, progress, rank++, verdict);
  return verdict;
}

int largest(Communicator& world, int own) {
  int found = own;
  for (const auto& [value] : gather_rows<1>(world, {static_cast<double>(own)}))
    found = std::max(found, static_cast<int>(value));
  return found;
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
