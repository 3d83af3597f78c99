// A row of numbers of each rank, for what ranks must know of one another. The type that is exchanged holds
// whole numbers up to 2^53.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <vector>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// By rank.
template <std::size_t kColumns>
std::vector<std::array<double, kColumns>> gather_rows(Communicator& group,
                                                      const std::array<double, kColumns>& own) {
  at::Tensor all = at::empty({group.size(), kColumns}, at::kDouble);
  at::Tensor mine = all.narrow(0, group.rank(), 1);
  std::ranges::copy(own, mine.data_ptr<double>());
  group.all_gather(all, mine);
  std::vector<std::array<double, kColumns>> rows(static_cast<std::size_t>(group.size()));
  const auto* next = all.data_ptr<double>();
  for (auto& row : rows) {
    std::copy_n(next, kColumns, row.begin());
    next += kColumns;
  }
  return rows;
}

}  // namespace caravan::trainer
