#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace caravan::trainer {
namespace {

// What a rank says, or several together.
enum Column { kLoss, kSquares, kStop, kAsked, kUnderWay, kFailed };
using Row = std::array<double, 6>;

constexpr double kNobody = 2'147'483'647;  // no rank has that number

Row row_of(int rank, const StepShare& share) {
  const auto if_it_is = [&](SaveProgress progress) {
    return share.save.progress == progress ? static_cast<double>(rank) : kNobody;
  };
  Row row;
  row[kLoss] = share.loss_sum;
  row[kSquares] = share.squared_gradient_norm;
  row[kStop] = share.stop_after_step;
  row[kAsked] = rank == 0 && share.save.asks ? 1 : 0;
  row[kUnderWay] = if_it_is(SaveProgress::UnderWay);
  row[kFailed] = if_it_is(SaveProgress::Failed);
  return row;
}

Row combined(const std::vector<Row>& rows) {
  Row all = rows.front();
  for (const Row& row : std::span(rows).subspan(1)) {
    for (const Column sum : {kLoss, kSquares}) all[sum] += row[sum];
    for (const Column first : {kStop, kUnderWay, kFailed}) all[first] = std::min(all[first], row[first]);
    all[kAsked] = std::max(all[kAsked], row[kAsked]);
  }
  return all;
}

Row of_stage(Mesh& mesh, const Row& own) {
  return combined(gather_rows(*mesh.data, combined(gather_rows(*mesh.tensor, own))));
}

std::optional<int> rank_in(double column) {
  return column == kNobody ? std::nullopt : std::optional(static_cast<int>(column));
}

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

Agreement::Agreement(Mesh& mesh, const StepShare& share)
    : of_stages_(*mesh.pipeline, of_stage(mesh, row_of(mesh.world->rank(), share))) {}

StepVerdict Agreement::wait() {
  const Row all = combined(of_stages_.wait());
  return {.loss_sum = all[kLoss],
          .gradient_norm = std::sqrt(all[kSquares]),
          .stop_after_step = static_cast<int>(all[kStop]),
          .save = {.asked = all[kAsked] != 0,
                   .under_way = rank_in(all[kUnderWay]),
                   .failed_rank = rank_in(all[kFailed])}};
}

SaveVerdict agree_on_save(Communicator& world, const SaveShare& share) {
  SaveVerdict verdict;
  int rank = 0;
  for (const auto& [asks, progress, done] : gather_rows<3>(
           world,
           {share.asks ? 1.0 : 0.0, static_cast<double>(share.progress), static_cast<double>(share.done)})) {
    add(asks, progress, rank++, verdict);
    verdict.done += static_cast<int64_t>(done);
  }
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
