#include "planner/time/time_model.h"

#include <algorithm>

#include "planner/memory/memory_model.h"
#include "planner/memory/stage_parameters.h"
#include "planner/memory/stage_shape.h"
#include "planner/model/flops.h"
#include "planner/model/parameters.h"
#include "planner/schedule/makespan.h"

namespace caravan::planner {
namespace {

// Work of one micro-batch, forward, on one device.
struct ForwardWork {
  double layer_flops = 0;      // matrix products
  double attention_flops = 0;  // causal
  double head_flops = 0;
  double tokens_hidden = 0;     // size that decides how well products run
  double layer_bytes = 0;       // of the tensors that the kernels of a layer write
  double activation_bytes = 0;  // of one micro-batch between layers, all tokens
};

// Whatever is kept or made again, a forward writes every row of the table.
double layer_bytes(const PlanRequest& request, const Layout& layout) {
  double bytes = 0;
  for (const SavedTensor& row : layer_table(stage_shape(request, layout, 0)))
    bytes += static_cast<double>(row.bytes);
  return bytes;
}

ForwardWork forward_work(const PlanRequest& request, const Layout& layout) {
  const ModelShape& shape = request.shape;
  const auto tokens = static_cast<double>(request.training.sequence_length * layout.micro_batch_size);
  const auto tensor = static_cast<double>(layout.tensor);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto attended =
      static_cast<double>(2 * shape.heads * shape.head_dim * request.training.sequence_length);
  return {.layer_flops = 2 * static_cast<double>(layer_parameters(shape)) * tokens / tensor,
          .attention_flops = attended * tokens / tensor,
          .head_flops = 2 * static_cast<double>(embedding_parameters(shape)) * tokens / tensor,
          .tokens_hidden = tokens * hidden / tensor,
          .layer_bytes = layer_bytes(request, layout),
          .activation_bytes = tokens * hidden * static_cast<double>(request.training.storage_bytes())};
}

struct ForwardSeconds {
  double layer = 0;
  double layer_traffic = 0;
  double head = 0;
};

// Without a known product a FLOP takes one second and traffic nothing: good for proportions.
ForwardSeconds forward_seconds(const PlanRequest& request, const Layout& layout,
                               const EngineProfile& profile) {
  const ForwardWork work = forward_work(request, layout);
  const auto& device = request.devices.known;
  if (!device)
    return {.layer = work.layer_flops + work.attention_flops, .layer_traffic = 0, .head = work.head_flops};

  const double efficiency =
      profile.gemm_efficiency * work.tokens_hidden / (work.tokens_hidden + profile.gemm_half_size);
  const double share = static_cast<double>(layout.tensor - 1) / layout.tensor;
  // Two all-reduces, or as many bytes in all-gathers and reduce-scatters.
  const double traffic_bytes = 2 * 2 * share * work.activation_bytes;
  return {.layer = work.layer_flops / (device->matrix_flops * efficiency) +
                   work.attention_flops / (device->peak_flops * profile.attention_efficiency) +
                   profile.layer_memory_passes * work.layer_bytes / device->memory_bandwidth +
                   profile.layer_overhead_seconds,
          .layer_traffic = traffic_bytes / (device->node_bandwidth * profile.node_bandwidth_fraction),
          .head = work.head_flops / (device->matrix_flops * efficiency)};
}

StageTimes stage_times(const ForwardSeconds& forward, const Layout& layout, int stage) {
  const double layers = layout.layers_per_stage[stage];
  const double head = stage == layout.pipeline - 1 ? forward.head : 0;
  const double pass = layers * (forward.layer + forward.layer_traffic);
  const double again = layout.activation_checkpointing ? pass : 0;
  return {.forward = pass + head,
          .backward_input = layers * (forward.layer + forward.layer_traffic) + head + again,
          .backward_weight = layers * forward.layer + head};
}

// Bytes/s of one device to the members of a group whose neighbours stand `stride` ranks apart.
double bandwidth(const PlanRequest& request, const EngineProfile& profile, int stride, int size) {
  const DeviceProduct& device = *request.devices.known;
  const bool rack_switch = device.link_domain > device.devices_per_node;
  const int joined = rack_switch ? device.link_domain : request.devices.per_node;
  return stride * size <= joined ? device.node_bandwidth * profile.node_bandwidth_fraction
                                 : device.network_bandwidth * profile.network_bandwidth_fraction;
}

double transfer_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  if (!request.devices.known || layout.pipeline == 1) return 0;
  const double bytes =
      forward_work(request, layout).activation_bytes / (layout.sequence_parallel ? layout.tensor : 1);
  return bytes / bandwidth(request, profile, layout.tensor * layout.data, 2);
}

double data_traffic_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  if (layout.data == 1) return 0;
  int64_t parameters = 0;
  for (const int stage : {0, layout.pipeline - 1}) {
    parameters = std::max(parameters, stage_elements(request.shape, layout, stage).values);
  }
  const double share = static_cast<double>(layout.data - 1) / layout.data;
  const auto bytes_each = static_cast<double>(profile.gradient_bytes + request.training.storage_bytes());
  const double seconds = share * static_cast<double>(parameters) * bytes_each /
                         bandwidth(request, profile, layout.tensor, layout.data);
  return seconds * (1 - profile.data_overlap);
}

// Reads and writes of values, gradients, master copy and moments.
double optimizer_seconds(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const auto updated = static_cast<double>(stage_elements(request.shape, layout, 0).states);
  const double bytes_each = profile.gradient_bytes + 2.0 * (profile.master_bytes + profile.moment_bytes);
  return updated * bytes_each / request.devices.known->memory_bandwidth;
}

}  // namespace

PipelineTimes predict_pipeline_times(const PlanRequest& request, const Layout& layout,
                                     const EngineProfile& profile) {
  const ForwardSeconds forward = forward_seconds(request, layout, profile);
  PipelineTimes times{.stages = {}, .transfer = transfer_seconds(request, layout, profile)};
  for (int stage = 0; stage < layout.pipeline; ++stage)
    times.stages.push_back(stage_times(forward, layout, stage));
  return times;
}

StepTime predict_step_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const PipelineTimes times = predict_pipeline_times(request, layout, profile);
  const double busiest = std::ranges::max(times.stages, {}, &StageTimes::total).total();
  const int64_t count = micro_batches(request.training, layout);
  const double pipeline =
      makespan(layout.schedule, layout.virtual_stages, times.stages, times.transfer, count);

  StepTime result;
  result.bubble_fraction = std::max(0.0, 1 - busiest * static_cast<double>(count) / pipeline);
  if (!request.devices.known) return result;
  result.data_seconds = data_traffic_seconds(request, layout, profile);
  result.seconds = pipeline + *result.data_seconds + optimizer_seconds(request, layout, profile);
  const auto tokens =
      static_cast<double>(request.training.global_batch_sequences * request.training.sequence_length);
  const FlopsPerToken flops =
      flops_per_token(request.shape, request.training.sequence_length, layout.activation_checkpointing);
  const auto of_peak = [&](double flops_each) {
    return utilisation(flops_each, tokens / *result.seconds, layout.devices(),
                       request.devices.known->peak_flops);
  };
  result.mfu = of_peak(flops.model);
  result.mfu_causal = of_peak(flops.model_causal);
  result.hfu = of_peak(flops.hardware);
  return result;
}

}  // namespace caravan::planner
