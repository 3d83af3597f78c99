// A copy of what a rank writes of a checkpoint, from which it is written while training goes on.
//
// A rank writes a slice of each bucket, one of as many as there are data parallel ranks, whether optimizer
// states are sharded or not, so that all ranks write and nobody writes twice. In the copy all kinds of state
// lie as sharded optimizer states do, on the host. It is allocated and touched once; where the states are on
// the host too, it is charged to the ledger as Snapshot and counted by the planner
// (planner/memory/memory_model.h, snapshot_bytes).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "checkpoint/folder/rank_writer.h"
#include "worker/trainer/checkpoint/rank_state.h"
#include "worker/trainer/model/owned_parts.h"

namespace caravan::trainer {

class Snapshot {
 public:
  // slice: of the data group. What state refers to outlives the snapshot.
  Snapshot(const RankState& state, DataShard slice);

  // All that training waits for: a copy of each bucket's slice.
  void take();

  // Of the model's own tensors, those elements that this rank answers for; to the end, also where nothing is
  // left to be written: files are on disk and the rank has said so. On any thread, while take() does not run.
  Status write(const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer) const;

 private:
  Status write_kind(checkpoint::StateKind kind, const std::vector<OwnedPart>& parts,
                    const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer) const;
  std::span<const std::byte> bytes(checkpoint::StateKind kind, const Bucket& bucket, FlatRange values) const;

  const RankState state_;
  const DataShard slice_;
  std::array<at::Tensor, std::size(checkpoint::kStateKinds)>
      copies_;  // by kind; undefined where there is none
};

}  // namespace caravan::trainer
