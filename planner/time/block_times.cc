#include "planner/time/block_times.h"

#include <algorithm>
#include <utility>

#include "planner/memory/activation_coefficients.h"
#include "planner/memory/stage_shape.h"
#include "planner/placement.h"
#include "planner/time/links.h"
#include "planner/work/blocks.h"
#include "planner/work/flops.h"

namespace caravan::planner {
namespace {

struct Rows {
  Operations layer;  // forward and backward
  Operations again;
  double part_again = 0;  // of the operations that a whole layer runs again
  Operations embedding;
  Operations head;
};

void append(Operations& rows, const Operations& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

void without_collectives(Operations& rows, auto of_row) {
  for (Operation& row : rows) {
    if (of_row(row)) row.collective = {};
  }
}

double part_again(const Operations& forward, RecomputedPart part) {
  const auto operations = [&](RecomputedPart of) {
    return static_cast<double>(std::ranges::count_if(
        forward, [&](const Operation& row) { return row.makes && is_made_again(*row.makes, of); }));
  };
  return operations(part) / operations(RecomputedPart::Layer);
}

Rows own_rows(const StageShape& shape) {
  Operations forward = layer_forward(shape);
  Rows rows{.layer = {},
            .again = layer_recompute(forward, shape.recomputed_part),
            .part_again = part_again(forward, shape.recomputed_part),
            .embedding = embedding_forward(shape),
            .head = head_forward(shape)};
  rows.layer = std::move(forward);
  append(rows.layer, layer_backward(shape));
  append(rows.embedding, embedding_backward(shape));
  // What the head's forward does is done in the forward.
  for (Operation& row : rows.head) row.phase = Phase::Forward;
  return rows;
}

Rows rows_of_others(const StageShape& shape) {
  Rows rows{.layer = layer_forward(shape),
            .again = {},
            .part_again = 1,
            .embedding = {},
            .head = head_forward(shape)};
  rows.again = rows.layer;
  for (Operation& row : rows.again) row.phase = Phase::Recompute;
  append(rows.layer, layer_backward(shape));
  without_collectives(rows.layer, [](const Operation& row) { return row.phase == Phase::WeightGradient; });
  without_collectives(rows.head, [](const Operation&) { return true; });
  for (Operation& row : rows.head) row.pieces = 1;
  for (Operations* each : {&rows.layer, &rows.again, &rows.head}) {
    for (Operation& row : *each) row.moved = 0;
  }
  return rows;
}

StageShape any_shape(const PlanRequest& request, const Layout& layout, int segment) {
  return stage_shape(request, layout, LayerGroup{.layers = 1, .has_embedding = true, .has_head = true},
                     segment);
}

Rows rows_of(const StageShape& shape, const EngineProfile& profile) {
  return profile.activations ? rows_of_others(shape) : own_rows(shape);
}

// Gradients of weights that may not wait are made with those of the input.
double& part_of(PhaseTimes& times, const Operation& row) {
  if (row.phase == Phase::Forward) return times.forward;
  return row.may_wait ? times.backward_weight : times.backward_input;
}

class Stopwatch {
 public:
  Stopwatch(const PlanRequest& request, const Layout& layout, const EngineProfile& profile)
      : request_(request), layout_(layout), profile_(profile) {}

  BlockTime time(const Operations& rows) const {
    BlockTime block;
    for (const Operation& row : rows) {
      const double traffic = traffic_seconds(row);
      block.traffic += traffic;
      part_of(block.work, row) += work_seconds(row) + traffic;
    }
    return block;
  }

 private:
  double work_seconds(const Operation& row) const {
    if (!request_.devices.known) return row.product.flops() + row.attention.causal_flops();
    const DeviceProduct& device = *request_.devices.known;
    const double passes = profile_.layer_memory_passes * static_cast<double>(row.moved);
    return product_seconds(row) + attention_seconds(row.attention) + passes / device.memory_bandwidth;
  }

  // GPUs multiply fp32 without tensor cores, and their libraries know no attention of it (docs/cuda.md).
  bool is_fp32_on_gpus() const { return request_.devices.gpu && !request_.training.bf16; }

  double product_rate() const {
    const DeviceProduct& device = *request_.devices.known;
    return (is_fp32_on_gpus() ? device.fp32_flops : device.matrix_flops) * profile_.gemm_efficiency;
  }

  double attention_seconds(const Attention& attention) const {
    if (is_fp32_on_gpus()) return attention.all_flops() / product_rate();
    return attention.causal_flops() / (request_.devices.known->peak_flops * efficiency_of(attention));
  }

  double efficiency_of(const Attention& attention) const {
    const bool is_behind = request_.devices.gpu && attention.earlier > 0;
    return is_behind ? profile_.segment_attention_efficiency.value_or(profile_.attention_efficiency)
                     : profile_.attention_efficiency;
  }

  double product_seconds(const Operation& row) const {
    const Product& product = row.product;
    if (product.tokens == 0) return 0;
    const double rows = static_cast<double>(product.tokens) / static_cast<double>(row.pieces);
    const double size = rows * static_cast<double>(request_.shape.hidden) / layout_.mesh.tensor;
    const double rate = product_rate() * size / (size + profile_.gemm_half_size);
    const auto weights = static_cast<double>(row.pieces * product.weight_bytes);
    return std::max(product.flops() / rate, weights / request_.devices.known->memory_bandwidth);
  }

  // A ring moves the parts of the others: once to gather or to scatter, twice to reduce for all.
  double traffic_seconds(const Operation& row) const {
    const Collective& collective = row.collective;
    if (collective.bytes == 0 || !request_.devices.known) return 0;
    const double size = along(layout_.mesh, collective.axis);
    const int rounds = collective.kind == CollectiveKind::AllReduce ? 2 : 1;
    const double bytes = rounds * (size - 1) / size * static_cast<double>(collective.bytes);
    const auto calls = static_cast<double>(row.pieces);
    return calls * profile_.collective_latency_seconds +
           bytes / group_bandwidth(request_.devices, profile_, layout_.mesh, collective.axis);
  }

  const PlanRequest& request_;
  const Layout& layout_;
  const EngineProfile& profile_;
};

// In the place of what rows move.
void add_coefficients(BlockTimes& times, const PlanRequest& request, const StageShape& shape,
                      const EngineProfile& profile) {
  const double bandwidth = request.devices.known->memory_bandwidth;
  const double layer = profile.layer_memory_passes * layer_bytes(shape, *profile.activations) / bandwidth;
  const double head = logits_bytes(shape, *profile.activations) / bandwidth;
  times.layer += {.work = {.forward = layer, .backward_input = layer, .backward_weight = layer}};
  times.again += {.work = {.forward = 0, .backward_input = layer, .backward_weight = 0}};
  times.head += {.work = {.forward = head, .backward_input = head, .backward_weight = head}};
}

}  // namespace

BlockTime& BlockTime::operator+=(const BlockTime& other) {
  work += other.work;
  traffic += other.traffic;
  return *this;
}

BlockTime operator*(double times, const BlockTime& block) {
  return {.work = times * block.work, .traffic = times * block.traffic};
}

BlockTimes block_times(const PlanRequest& request, const Layout& layout, const EngineProfile& profile,
                       int segment) {
  const StageShape shape = any_shape(request, layout, segment);
  const Rows rows = rows_of(shape, profile);
  const Stopwatch stopwatch(request, layout, profile);
  BlockTimes times{.layer = stopwatch.time(rows.layer),
                   .again = stopwatch.time(rows.again),
                   .embedding = stopwatch.time(rows.embedding),
                   .head = stopwatch.time(rows.head)};
  if (!request.devices.known) return times;
  if (profile.activations) add_coefficients(times, request, shape, profile);
  const double launch = profile.layer_overhead_seconds;
  times.layer += {.work = {.forward = launch, .backward_input = launch, .backward_weight = launch}};
  times.again += {.work = {.forward = 0, .backward_input = rows.part_again * launch, .backward_weight = 0}};
  return times;
}

double recomputed_flops_per_token(const PlanRequest& request, const Layout& layout,
                                  const EngineProfile& profile) {
  if (layout.recomputed() == 0) return 0;
  StageShape whole = any_shape(request, layout, 0);
  whole.segments.clear();
  const double of_layer = recomputed_flops(rows_of(whole, profile).again);
  const auto tokens = static_cast<double>(request.training.sequence_length * layout.micro_batch_size);
  return of_layer * layout.mesh.tensor * layout.recomputed() / tokens;
}

}  // namespace caravan::planner
