#include "worker/trainer/loop/agreement.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace caravan::trainer {
namespace {

constexpr double kNobody = kNoStop;  // no rank has that number

using Row = std::array<double, 6>;

Row row_of(int rank, const StepShare& share) {
  const auto if_it_is = [&](SaveProgress progress) {
    return share.save.progress == progress ? static_cast<double>(rank) : kNobody;
  };
  return {share.loss_sum,
          share.squared_gradient_norm,
          static_cast<double>(share.stop_after_step),
          rank == 0 && share.save.asks ? 1.0 : 0.0,
          if_it_is(SaveProgress::UnderWay),
          if_it_is(SaveProgress::Failed)};
}

Row combined(const std::vector<Row>& rows) {
  Row all = {0, 0, kNoStop, 0, kNobody, kNobody};
  for (const Row& row : rows) {
    all[0] += row[0];
    all[1] += row[1];
    all[3] = std::max(all[3], row[3]);
    for (const std::size_t earliest : {2, 4, 5}) all[earliest] = std::min(all[earliest], row[earliest]);
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
  const auto [loss_sum, squared_norm, stop_after_step, asked, under_way, failed_rank] =
      combined(of_stages_.wait());
  return {
      .loss_sum = loss_sum,
      .gradient_norm = std::sqrt(squared_norm),
      .stop_after_step = static_cast<int>(stop_after_step),
      .save = {.asked = asked != 0, .under_way = rank_in(under_way), .failed_rank = rank_in(failed_rank)}};
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
