// A row of numbers of each rank, for what ranks must know of one another: at once, or while they do something
// else. The type that is exchanged holds whole numbers up to 2^53.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

template <std::size_t kColumns>
using Rows = std::vector<std::array<double, kColumns>>;  // by rank

// One row of each rank, of which this rank knows its own.
template <std::size_t kColumns>
at::Tensor room_for_rows(const Communicator& group, const std::array<double, kColumns>& own) {
  at::Tensor all = at::empty({group.size(), kColumns}, at::kDouble);
  std::ranges::copy(own, all[group.rank()].template data_ptr<double>());
  return all;
}

template <std::size_t kColumns>
Rows<kColumns> rows_of(const at::Tensor& all) {
  Rows<kColumns> rows(static_cast<std::size_t>(all.size(0)));
  const auto* next = all.data_ptr<double>();
  for (auto& row : rows) {
    std::copy_n(next, kColumns, row.begin());
    next += kColumns;
  }
  return rows;
}

template <std::size_t kColumns>
Rows<kColumns> gather_rows(Communicator& group, const std::array<double, kColumns>& own) {
  at::Tensor all = room_for_rows(group, own);
  group.all_gather(all, all.narrow(0, group.rank(), 1));
  return rows_of<kColumns>(all);
}

// One exchange at a time in a group, which must outlive it.
template <std::size_t kColumns>
class PendingRows {
 public:
  PendingRows(Communicator& group, const std::array<double, kColumns>& own)
      : all_(room_for_rows(group, own)) {
    const at::Tensor mine = all_[group.rank()];
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      at::Tensor theirs = all_[peer];
      transfers_.push_back(group.receive(theirs, peer, kTag));
      transfers_.push_back(group.send(mine, peer, kTag));
    }
  }

  Rows<kColumns> wait() {
    for (const auto& transfer : std::exchange(transfers_, {})) transfer->wait();
    return rows_of<kColumns>(all_);
  }

 private:
  static constexpr int kTag = (1 << 30) - 1;  // no other transfer's

  at::Tensor all_;
  std::vector<std::unique_ptr<PendingTransfer>> transfers_;
};

}  // namespace caravan::trainer
