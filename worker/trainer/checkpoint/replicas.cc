#include "worker/trainer/checkpoint/replicas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "worker/trainer/comm/gather_rows.h"
#include "worker/trainer/kernels/sum_of_bits.h"
#include "worker/trainer/model/flat_range.h"

namespace caravan::trainer {
namespace {

constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;

constexpr std::array<std::string_view, kReplicas> kNames = {"weights", "norms", "table of embeddings"};

// Ranks with equal places have the same.
using Place = std::tuple<int, int, int>;
Place place_of(Replica what, const planner::MeshPosition& position) {
  switch (what) {
    case Replica::Weights:
      return {position.tensor, position.pipeline, 0};
    case Replica::Norms:
      return {0, position.pipeline, 0};
    case Replica::Table:
      break;
  }
  return {position.tensor, 0, 0};
}

using RanksBySum = std::map<int64_t, std::vector<int>>;

// Some rank has the same. Where none has, a sum would cost its time and be held against nothing.
bool has_twins(Replica what, const planner::MeshShape& mesh) {
  switch (what) {
    case Replica::Weights:
      break;
    case Replica::Norms:
      return mesh.data * mesh.tensor > 1;
    case Replica::Table:
      return mesh.data * mesh.pipeline > 1;
  }
  return mesh.data > 1;
}

// The largest number that agree is right; of equals nobody knows.
ReplicaDifference verdict_on(std::string_view what, const RanksBySum& ranks) {
  const auto larger = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::ranges::max_element(ranks, larger);
  std::vector<int> others;
  bool is_tied = false;
  for (const auto& [sum, members] : ranks) {
    if (sum == most->first) continue;
    is_tied = is_tied || members.size() == most->second.size();
    others.insert(others.end(), members.begin(), members.end());
  }
  if (is_tied) others.insert(others.end(), most->second.begin(), most->second.end());
  std::ranges::sort(others);
  const std::string text =
      is_tied
          ? fmt::format("the {} of ranks {} differ, and must be the same", what, fmt::join(others, ", "))
          : fmt::format("the {} of rank{} {} are not those of the {} others that must have the same", what,
                        others.size() == 1 ? "" : "s", fmt::join(others, ", "), most->second.size());
  return {.ranks = std::move(others), .what = text};
}

}  // namespace

BitSums bit_sums(const ParameterStore& parameters, const planner::MeshShape& mesh) {
  std::array<std::optional<uint64_t>, kReplicas> sums;
  const auto add = [&](Replica what, FlatRange range) {
    if (!has_twins(what, mesh)) return;
    auto& sum = sums[static_cast<std::size_t>(what)];
    sum = sum.value_or(0) + kernels::sum_of_bits(view(parameters.values, range));
  };
  add(Replica::Weights, {0, parameters.layout.elements});
  for (const Parameter& parameter : parameters.layout.parameters) {
    if (parameter.replicated_over_tensor) add(Replica::Norms, {parameter.offset, parameter.elements});
    if (parameter.tied_copy) add(Replica::Table, {parameter.offset, parameter.elements});
  }
  BitSums found{};
  std::ranges::transform(sums, found.begin(),
                         [](auto sum) { return sum ? static_cast<int64_t>(*sum & kMask) : -1; });
  return found;
}

std::optional<ReplicaDifference> difference(const std::vector<BitSums>& sums,
                                            const planner::MeshShape& mesh) {
  for (const Replica what : {Replica::Norms, Replica::Table, Replica::Weights}) {
    const auto index = static_cast<std::size_t>(what);
    std::map<Place, RanksBySum> places;
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      if (sums[rank][index] < 0) continue;
      const Place place = place_of(what, planner::position_of(static_cast<int>(rank), mesh));
      places[place][sums[rank][index]].push_back(static_cast<int>(rank));
    }
    for (const auto& [place, ranks] : places)
      if (ranks.size() > 1) return verdict_on(kNames[index], ranks);
  }
  return std::nullopt;
}

std::optional<ReplicaDifference> compare_replicas(Communicator& world, const ParameterStore& parameters,
                                                  const planner::MeshShape& mesh) {
  std::array<double, kReplicas> own{};
  std::ranges::copy(bit_sums(parameters, mesh), own.begin());
  std::vector<BitSums> sums;
  for (const auto& row : gather_rows(world, own)) {
    BitSums& each = sums.emplace_back();
    std::ranges::transform(row, each.begin(), [](double sum) { return static_cast<int64_t>(sum); });
  }
  return difference(sums, mesh);
}

}  // namespace caravan::trainer
