#include "worker/trainer/checkpoint/rank_state.h"

#include <span>

#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/model/owned_parts.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {
namespace {

using checkpoint::ElementType;
using checkpoint::StateKind;

constexpr StateKind kOptimizerStates[] = {StateKind::Master, StateKind::FirstMoment, StateKind::SecondMoment};

ElementType type_of(at::ScalarType type) {
  if (type == at::kBFloat16) return ElementType::BF16;
  return type == at::kDouble ? ElementType::F64 : ElementType::F32;
}

const at::Tensor& tensor_of(const RankState& state, StateKind kind) {
  switch (kind) {
    case StateKind::Weights:
      return state.parameters.values;
    case StateKind::Master:
      return state.optimizer.states().master;
    case StateKind::FirstMoment:
      return state.optimizer.states().first_moment;
    case StateKind::SecondMoment:
      break;
  }
  return state.optimizer.states().second_moment;
}

// Of a run, in the flat tensor that holds this kind.
std::span<std::byte> bytes_of(const RankState& state, StateKind kind, const OwnedPart& owned,
                              const Run& run) {
  const at::Tensor& flat = tensor_of(state, kind);
  int64_t offset = run.values.offset;
  if (kind != StateKind::Weights) {
    const Bucket& bucket = state.parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
    offset = state_offset_of(bucket, state.optimizer.shard(), offset);
  }
  const auto size = static_cast<int64_t>(flat.element_size());
  return {static_cast<std::byte*>(flat.data_ptr()) + offset * size,
          static_cast<std::size_t>(run.values.elements * size)};
}

// transfer(first element of the tensor, bytes) for each run, until one fails.
template <typename Transfer>
Status for_each_bytes(const RankState& state, StateKind kind, const OwnedPart& owned, Transfer transfer) {
  Status status;
  for_each_run(owned, [&](const Run& run) {
    if (status) status = transfer(run.first_full, bytes_of(state, kind, owned, run));
  });
  return status;
}

Status read_kind(checkpoint::Checkpoint& from, const RankState& state, StateKind kind,
                 const std::vector<FlatRange>& ranges) {
  const auto parts = owned_parts(state.parameters.layout, state.placement, ranges, Selection::Everything);
  for (const OwnedPart& owned : parts) {
    const std::size_t tensor = from.plan().tensor(owned.part.name);
    Status read = for_each_bytes(state, kind, owned, [&](int64_t first, std::span<std::byte> bytes) {
      return from.read(kind, tensor, first, bytes);
    });
    if (!read) return read;
  }
  return {};
}

}  // namespace

checkpoint::StateTypes state_types(at::ScalarType storage) {
  const at::ScalarType wide = kernels::wide_type(storage);
  return {.weights = type_of(storage), .states = type_of(wide), .has_master = storage != wide};
}

Status write_state(const RankState& state, const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer) {
  const auto parts = owned_parts(state.parameters.layout, state.placement,
                                 slices_of(state.parameters.layout, state.slice), Selection::CountsHere);
  for (const OwnedPart& owned : parts) {
    const std::size_t tensor = plan.tensor(owned.part.name);
    for (const TensorBlock& block : blocks_of(owned))
      writer.add_box(tensor, {block.row, block.column, block.rows, block.columns});
    for (const StateKind kind : checkpoint::kStateKinds) {
      if (!plan.has(kind)) continue;
      Status written =
          for_each_bytes(state, kind, owned, [&](int64_t first, std::span<const std::byte> bytes) {
            return writer.write(kind, tensor, first, bytes);
          });
      if (!written) return written;
    }
  }
  return writer.finish();
}

Status read_state(checkpoint::Checkpoint& from, const RankState& state) {
  const ParameterLayout& layout = state.parameters.layout;
  if (Status read = read_kind(from, state, StateKind::Weights, whole_buckets(layout)); !read) return read;
  const std::vector<FlatRange> updated = slices_of(layout, state.optimizer.shard());
  for (const StateKind kind : kOptimizerStates) {
    if (!from.plan().has(kind)) continue;
    if (Status read = read_kind(from, state, kind, updated); !read) return read;
  }
  state.optimizer.set_updates(from.state().updates);
  return {};
}

}  // namespace caravan::trainer
