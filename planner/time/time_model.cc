#include "planner/time/time_model.h"

#include <algorithm>
#include <cmath>

#include "planner/memory/memory_model.h"
#include "planner/memory/stage_parameters.h"
#include "planner/placement.h"
#include "planner/schedule/makespan.h"
#include "planner/time/block_times.h"
#include "planner/time/links.h"
#include "planner/work/flops.h"

namespace caravan::planner {
namespace {

BlockTime group_time(const BlockTimes& blocks, const LayerGroup& group) {
  BlockTime time = static_cast<double>(group.layers) * blocks.layer;
  time += static_cast<double>(group.recomputed_layers) * blocks.again;
  if (group.has_embedding) time += blocks.embedding;
  if (group.has_head) time += blocks.head;
  return time;
}

// Of one micro-batch between layers, all tokens; of a segment on average.
double boundary_bytes(const PlanRequest& request, const Layout& layout) {
  return static_cast<double>(request.training.sequence_length * layout.micro_batch_size *
                             request.shape.hidden * request.training.storage_bytes()) /
         layout.segment_count();
}

double transfer_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  if (!request.devices.known || layout.mesh.pipeline == 1) return 0;
  const bool in_parts = layout.sequence_parallel || profile.split_transfers;
  const double bytes = boundary_bytes(request, layout) / (in_parts ? layout.mesh.tensor : 1);
  return profile.collective_latency_seconds +
         bytes / neighbour_bandwidth(request.devices, profile, layout.mesh, Axis::Pipeline);
}

// Bytes that a rank moves in a step for each parameter: gradients are summed and values gathered, by ZeRO
// stages 2 and 3 once for each micro-batch (Rajbhandari et al., arXiv 1910.02054, section 7).
double data_traffic_bytes(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const auto gradient = static_cast<double>(profile.gradient_wire_bytes);
  const auto value = static_cast<double>(request.training.storage_bytes());
  const auto count = static_cast<double>(micro_batches(request.training, layout));
  switch (layout.zero_stage) {
    case 0:
      return 2 * gradient;
    case 1:
      return gradient + value;
    case 2:
      return count * gradient + value;
    default:
      return count * (gradient + 2 * value);
  }
}

// Of the stage with the most parameters, which the others wait for.
StageElements most_elements(const PlanRequest& request, const Layout& layout) {
  const Placement placement = place_layers(layout);
  StageElements most;
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    const StageElements elements = stage_elements(request.shape, layout, placement, stage);
    if (elements.values > most.values) most = elements;
  }
  return most;
}

double data_traffic_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile,
                            const StageElements& elements) {
  if (layout.mesh.data == 1) return 0;
  const double others = static_cast<double>(layout.mesh.data - 1) / layout.mesh.data;
  const double seconds = others * static_cast<double>(elements.values) *
                         data_traffic_bytes(request, layout, profile) /
                         group_bandwidth(request.devices, profile, layout.mesh, Axis::Data);
  return seconds * (1 - profile.data_overlap);
}

// Where two stages hold a copy of a tied table, each sends the other the gradients that it answers for.
double tied_traffic_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const Placement placement = place_layers(layout);
  if (!request.shape.tied_embeddings || placement.embedding_stage() == placement.head_stage()) return 0;
  const int parts = layout.mesh.tensor * (layout.zero_stage == 0 ? 1 : layout.mesh.data);
  const double elements = static_cast<double>(request.shape.vocab * request.shape.hidden) / parts;
  return profile.collective_latency_seconds +
         elements * static_cast<double>(profile.gradient_wire_bytes) /
             neighbour_bandwidth(request.devices, profile, layout.mesh, Axis::Pipeline);
}

// Reads and writes of values, gradients, master copy and moments; a trial before reads them all. What a rank
// has of the gradients of other ranks' slices it makes zero.
double optimizer_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile,
                         const StageElements& elements) {
  const int states = profile.master_bytes + moment_bytes(request, profile);
  const int tried = layout.validates_afterwards() ? profile.gradient_bytes + states : 0;
  const double bytes_each = tried + profile.gradient_bytes + 2.0 * states;
  const int64_t others = layout.zero_stage >= 2 ? 0 : elements.values - elements.states;
  const double bytes = static_cast<double>(elements.states) * bytes_each +
                       static_cast<double>(others * profile.gradient_bytes);
  return bytes / request.devices.known->memory_bandwidth;
}

// On one micro-batch.
struct BusiestStage {
  double seconds = 0;
  double traffic = 0;
};

BusiestStage busiest_stage(const PipelineTimes& times, const ChunkMap& map) {
  BusiestStage busiest;
  for (int stage = 0; stage < map.stages; ++stage) {
    const double seconds = times.ops.of_stage(map, stage).total();
    if (seconds <= busiest.seconds) continue;
    busiest = {.seconds = seconds};
    for (int chunk = 0; chunk < map.chunks; ++chunk)
      busiest.traffic += times.traffic[map.group_of(stage, chunk)];
  }
  return busiest;
}

void set_utilisation(StepTime& time, const PlanRequest& request, const Layout& layout,
                     const EngineProfile& profile) {
  const TrainingNumbers& training = request.training;
  const auto tokens = static_cast<double>(training.global_batch_sequences * training.sequence_length);
  const FlopsPerToken flops = flops_per_token(request.shape, training.sequence_length,
                                              recomputed_flops_per_token(request, layout, profile));
  const auto of_peak = [&](double flops_each) {
    return utilisation(flops_each, tokens / *time.seconds, static_cast<double>(layout.mesh.ranks()),
                       request.devices.known->peak_flops);
  };
  time.mfu = of_peak(flops.model);
  time.mfu_causal = of_peak(flops.model_causal);
  time.hfu = of_peak(flops.hardware);
}

}  // namespace

PipelineTimes predict_pipeline_times(const PlanRequest& request, const Layout& layout,
                                     const EngineProfile& profile) {
  std::vector<BlockTimes> segments;
  segments.reserve(static_cast<std::size_t>(layout.segment_count()));
  for (int segment = 0; segment < layout.segment_count(); ++segment)
    segments.push_back(block_times(request, layout, profile, segment));
  const Placement placement = place_layers(layout);
  PipelineTimes times{.ops = {.groups = {},
                              .segments = layout.segment_count(),
                              .transfer = transfer_seconds(request, layout, profile)},
                      .traffic = std::vector<double>(placement.groups.size())};
  times.ops.groups.reserve(placement.groups.size() * segments.size());
  for (std::size_t group = 0; group < placement.groups.size(); ++group) {
    for (const BlockTimes& blocks : segments) {
      const BlockTime time = group_time(blocks, placement.groups[group]);
      times.ops.groups.push_back(time.work);
      times.traffic[group] += time.traffic;
    }
  }
  return times;
}

std::vector<PhaseTimes> arranged_group_times(const PlanRequest& request, const Layout& layout,
                                             const EngineProfile& profile) {
  if (has_fixed_order(layout.schedule)) return {};
  constexpr double kLongest = 1000;
  std::vector<PhaseTimes> groups = predict_pipeline_times(request, layout, profile).ops.groups;
  double longest = 0;
  for (const PhaseTimes& group : groups)
    longest = std::max({longest, group.forward, group.backward_input, group.backward_weight});
  const auto part = [&](double time) { return std::max(1.0, std::round(kLongest * time / longest)); };
  for (PhaseTimes& group : groups) {
    group = {.forward = part(group.forward),
             .backward_input = part(group.backward_input),
             .backward_weight = part(group.backward_weight)};
  }
  return groups;
}

std::optional<double> least_step_seconds(const PlanRequest& request, const Layout& layout,
                                         const EngineProfile& profile) {
  if (!request.devices.known) return std::nullopt;
  double work = 0;
  for (const PhaseTimes& group :
       predict_pipeline_times(request, layout.keeping_activations(), profile).ops.groups)
    work += group.total();
  return static_cast<double>(micro_batches(request.training, layout)) * work / layout.mesh.pipeline;
}

StepTime predict_step_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const PipelineTimes times = predict_pipeline_times(request, layout, profile);
  const int64_t count = micro_batches(request.training, layout);
  const ScheduleSpec spec = layout.schedule_of(static_cast<int>(count));
  const BusiestStage busiest = busiest_stage(times, spec.map());
  const double pipeline = makespan(spec, times.ops);
  const double busy = static_cast<double>(count) * busiest.seconds;

  StepTime result;
  result.bubble_fraction = std::max(0.0, 1 - busy / pipeline);
  if (!request.devices.known) return result;
  StepParts parts;
  parts.tensor_traffic = static_cast<double>(count) * busiest.traffic;
  parts.compute = busy - parts.tensor_traffic;
  parts.idle = std::max(0.0, pipeline - busy);
  const StageElements elements = most_elements(request, layout);
  parts.data_traffic = data_traffic_seconds(request, layout, profile, elements) +
                       tied_traffic_seconds(request, layout, profile);
  parts.optimizer = optimizer_seconds(request, layout, profile, elements);
  result.seconds = parts.total();
  result.parts = parts;
  result.bubble_fraction = parts.idle / parts.total();
  set_utilisation(result, request, layout, profile);
  return result;
}

}  // namespace caravan::planner
