#include "worker/trainer/comm/direct_exchange.h"

#include <ATen/ops/empty.h>

#include <memory>
#include <vector>

#include "planner/work/constants.h"
#include "worker/trainer/comm/partition.h"

namespace caravan::trainer {
namespace {

using planner::kExchangeChunkElements;

// Above every tag that callers may use.
constexpr int kExchangeTag = 1 << 30;

using Transfers = std::vector<std::unique_ptr<PendingTransfer>>;

void finish(Transfers& transfers) {
  for (const auto& transfer : transfers) transfer->wait();
  transfers.clear();
}

int peer_after(const Communicator& group, int distance) {
  return (group.rank() + distance) % group.size();
}

at::ScalarType sum_type(at::ScalarType type) {
  const bool narrow = type == at::kBFloat16 || type == at::kHalf;
  return narrow ? at::kFloat : type;
}

// sum += what the peers hold of this rank's chunk.
void add_from_peers(Communicator& group, at::Tensor& sum, at::ScalarType wire_type) {
  if (sum.numel() == 0 || group.size() == 1) return;
  at::Tensor received = at::empty(sum.sizes(), sum.options().dtype(wire_type));
  for (int distance = 1; distance < group.size(); ++distance) {
    group.receive(received, peer_after(group, distance), kExchangeTag)->wait();
    sum.add_(received);
  }
}

// Adds the peers' values of this rank's part of `flat` to `own`, which holds this rank's values (and may be
// that part).
void reduce_own_part(Communicator& group, const Partition& partition, const at::Tensor& own,
                     const at::Tensor& flat) {
  const Range part = partition.part(group.rank());
  for (int64_t begin = 0; begin < partition.part_elements(); begin += kExchangeChunkElements) {
    Transfers sends;
    for (int distance = 1; distance < group.size(); ++distance) {
      const int peer = peer_after(group, distance);
      const Range outgoing = partition.chunk(peer, begin, kExchangeChunkElements);
      if (outgoing.size() > 0) sends.push_back(group.send(view(flat, outgoing), peer, kExchangeTag));
    }
    const Range mine = partition.chunk(group.rank(), begin, kExchangeChunkElements);
    at::Tensor target = view(own, {mine.begin - part.begin, mine.end - part.begin});
    at::Tensor sum = target.to(sum_type(flat.scalar_type()));
    add_from_peers(group, sum, flat.scalar_type());
    finish(sends);
    if (sum.data_ptr() != target.data_ptr()) target.copy_(sum);
  }
}

// Every rank's part of `flat` reaches all others.
void spread_parts(Communicator& group, const Partition& partition, const at::Tensor& flat) {
  Transfers transfers;
  const Range own = partition.part(group.rank());
  for (int distance = 1; distance < group.size(); ++distance) {
    const int peer = peer_after(group, distance);
    if (own.size() > 0) transfers.push_back(group.send(view(flat, own), peer, kExchangeTag));
    const Range theirs = partition.part(peer);
    if (theirs.size() == 0) continue;
    at::Tensor target = view(flat, theirs);
    transfers.push_back(group.receive(target, peer, kExchangeTag));
  }
  finish(transfers);
}

}  // namespace

void exchange_all_reduce(Communicator& group, at::Tensor& tensor) {
  const at::Tensor flat = tensor.view(-1);
  const Partition partition(flat.numel(), group.size());
  reduce_own_part(group, partition, view(flat, partition.part(group.rank())), flat);
  spread_parts(group, partition, flat);
}

void exchange_all_gather(Communicator& group, at::Tensor& output, const at::Tensor& input) {
  const at::Tensor flat = output.view(-1);
  const Partition partition(flat.numel(), group.size());
  copy_unless_same(view(flat, partition.part(group.rank())), input.view(-1));
  spread_parts(group, partition, flat);
}

void exchange_reduce_scatter(Communicator& group, at::Tensor& output, const at::Tensor& input) {
  const at::Tensor flat = input.view(-1);
  const Partition partition(flat.numel(), group.size());
  const at::Tensor own = output.view(-1);
  copy_unless_same(own, view(flat, partition.part(group.rank())));
  reduce_own_part(group, partition, own, flat);
}

}  // namespace caravan::trainer
