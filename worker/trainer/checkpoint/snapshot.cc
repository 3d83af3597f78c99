#include "worker/trainer/checkpoint/snapshot.h"

#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {

using checkpoint::StateKind;

Snapshot::Snapshot(const RankState& state, DataShard slice) : state_(state), slice_(slice) {
  const ChargeAs charge(MemoryUse::Snapshot);
  const int64_t elements = ranges_to_update(state.parameters.layout, slice).state_elements;
  for (const StateKind kind : checkpoint::kStateKinds) {
    const at::Tensor& whole = tensor_of(state, kind);
    if (whole.defined())
      copies_[static_cast<std::size_t>(kind)] = kernels::zeros_for_copy_of(whole, elements);
  }
}

void Snapshot::take() {
  for (const StateKind kind : checkpoint::kStateKinds) {
    const at::Tensor& copy = copies_[static_cast<std::size_t>(kind)];
    if (!copy.defined()) continue;
    for (const Bucket& bucket : state_.parameters.layout.buckets) {
      const FlatRange slice = slice_of(bucket, slice_);
      const FlatRange from = {offset_of(state_, kind, bucket, slice.offset), slice.elements};
      const FlatRange to = {state_offset_of(bucket, slice_, slice.offset), slice.elements};
      kernels::copy_to_host(view(copy, to), view(tensor_of(state_, kind), from));
    }
  }
}

Status Snapshot::write(const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer) const {
  const ParameterLayout& layout = state_.parameters.layout;
  const std::vector<OwnedPart> parts =
      owned_parts(layout, state_.placement, slices_of(layout, slice_), Selection::CountsHere);
  for (const OwnedPart& owned : parts)
    for (const TensorBlock& block : blocks_of(owned))
      writer.add_box(plan.tensor(owned.part.name), {block.row, block.column, block.rows, block.columns});
  // One file after the other, each from its beginning to its end.
  for (const StateKind kind : checkpoint::kStateKinds)
    if (Status written = write_kind(kind, parts, plan, writer); !written) return written;
  return writer.finish();
}

Status Snapshot::write_kind(StateKind kind, const std::vector<OwnedPart>& parts,
                            const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer) const {
  Status written;
  if (!plan.has(kind)) return written;
  for (const OwnedPart& owned : parts) {
    const Bucket& bucket = state_.parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
    const std::size_t tensor = plan.tensor(owned.part.name);
    for_each_run(owned, [&](const Run& run) {
      if (written) written = writer.write(kind, tensor, run.first_full, bytes(kind, bucket, run.values));
    });
  }
  return written;
}

std::span<const std::byte> Snapshot::bytes(StateKind kind, const Bucket& bucket, FlatRange values) const {
  return kernels::bytes_of(view(copies_[static_cast<std::size_t>(kind)],
                                {state_offset_of(bucket, slice_, values.offset), values.elements}));
}

}  // namespace caravan::trainer
