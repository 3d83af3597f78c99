#include "worker/trainer/checkpoint/rank_state.h"

#include <algorithm>

#include "worker/trainer/kernels/host_copy.h"
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

at::Tensor elements_of_run(const RankState& state, StateKind kind, const OwnedPart& owned, const Run& run) {
  const Bucket& bucket = state.parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
  return view(tensor_of(state, kind),
              {offset_of(state, kind, bucket, run.values.offset), run.values.elements});
}

// read(first element, bytes) until all of a run that begins there is on the host, or one fails.
template <typename Read>
Status read_in_pieces(const at::Tensor& on_host, int64_t first, const Pieces& pieces, Read read) {
  std::span<std::byte> left = kernels::bytes_of(on_host);
  while (!left.empty()) {
    const auto piece = left.first(std::min(left.size(), pieces.bytes));
    if (Status done = read(first, piece); !done) return done;
    if (pieces.between) pieces.between();
    left = left.subspan(piece.size());
    first += std::ssize(piece) / on_host.element_size();
  }
  return {};
}

// read(part, first element, bytes) for what of the ranges lies in this kind's buffer, until one fails.
template <typename Read>
Status read_kind(const RankState& state, StateKind kind, const std::vector<FlatRange>& ranges,
                 const Pieces& pieces, Read read) {
  const auto parts = owned_parts(state.parameters.layout, state.placement, ranges, Selection::Everything);
  Status done;
  for (const OwnedPart& owned : parts) {
    for_each_run(owned, [&](const Run& run) {
      if (!done) return;
      kernels::fill_from_host(elements_of_run(state, kind, owned, run), [&](at::Tensor& on_host) {
        done = read_in_pieces(on_host, run.first_full, pieces,
                              [&](int64_t first, auto bytes) { return read(owned.part, first, bytes); });
      });
    });
  }
  return done;
}

Status check_parts(checkpoint::WeightsFolder& from, const ParameterLayout& layout) {
  for (const Parameter& parameter : layout.parameters)
    for (const ParameterPart& part : parameter.parts)
      if (Status right = from.check({part.name, part.full_shape}); !right) return right;
  return {};
}

}  // namespace

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

int64_t offset_of(const RankState& state, StateKind kind, const Bucket& bucket, int64_t value) {
  return kind == StateKind::Weights ? value : state_offset_of(bucket, state.optimizer.shard(), value);
}

checkpoint::StateTypes state_types(at::ScalarType storage, bool bf16_moments) {
  const at::ScalarType wide = kernels::wide_type(storage);
  return {.weights = type_of(storage),
          .states = type_of(wide),
          .has_master = storage != wide,
          .moments = bf16_moments ? ElementType::BF16 : type_of(wide)};
}

Status read_state(checkpoint::Checkpoint& from, const RankState& state, const Pieces& pieces) {
  const auto reader_of = [&from](StateKind kind) {
    return [&from, kind](const ParameterPart& part, int64_t first, std::span<std::byte> bytes) {
      return from.read(kind, from.plan().tensor(part.name), first, bytes);
    };
  };
  const ParameterLayout& layout = state.parameters.layout;
  Status read =
      read_kind(state, StateKind::Weights, whole_buckets(layout), pieces, reader_of(StateKind::Weights));
  if (!read) return read;
  const std::vector<FlatRange> updated = slices_of(layout, state.optimizer.shard());
  for (const StateKind kind : kOptimizerStates) {
    if (!from.plan().has(kind)) continue;
    if (read = read_kind(state, kind, updated, pieces, reader_of(kind)); !read) return read;
  }
  state.optimizer.set_updates(from.state().updates);
  return {};
}

Status read_values(checkpoint::WeightsFolder& from, const ParameterStore& parameters,
                   const StagePlacement& placement, const Pieces& pieces) {
  const ParameterLayout& layout = parameters.layout;
  if (Status right = check_parts(from, layout); !right) return right;
  const ElementType type = type_of(parameters.values.scalar_type());
  Status status;
  for (const OwnedPart& owned :
       owned_parts(layout, placement, whole_buckets(layout), Selection::Everything)) {
    for_each_run(owned, [&](const Run& run) {
      if (!status) return;
      kernels::fill_from_host(view(parameters.values, run.values), [&](at::Tensor& on_host) {
        status = read_in_pieces(on_host, run.first_full, pieces, [&](int64_t first, auto bytes) {
          return from.read(owned.part.name, first, type, bytes);
        });
      });
    });
  }
  return status;
}

// What the values have already is not read again.
Status read_weights(checkpoint::WeightsFolder& from, const RankState& state, const Pieces& pieces) {
  const at::Tensor& masters = state.optimizer.states().master;
  Status status = read_values(from, state.parameters, state.placement, pieces);
  if (!status || !masters.defined()) return status;
  const ElementType weights = type_of(state.parameters.values.scalar_type());
  const auto updated = slices_of(state.parameters.layout, state.optimizer.shard());
  for (const OwnedPart& owned :
       owned_parts(state.parameters.layout, state.placement, updated, Selection::Everything)) {
    const Result<const checkpoint::TensorEntry*> entry = from.find(owned.part.name);
    if (!entry) return tl::unexpected(entry.error());
    for_each_run(owned, [&](const Run& run) {
      const at::Tensor master = elements_of_run(state, StateKind::Master, owned, run);
      if ((*entry)->type == weights) {
        master.copy_(elements_of_run(state, StateKind::Weights, owned, run));
      } else if (status) {
        kernels::fill_from_host(master, [&](at::Tensor& on_host) {
          status = read_in_pieces(on_host, run.first_full, pieces, [&](int64_t first, auto bytes) {
            return from.read(owned.part.name, first, type_of(masters.scalar_type()), bytes);
          });
        });
      }
    });
  }
  return status;
}

}  // namespace caravan::trainer
