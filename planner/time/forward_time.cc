#include "planner/time/forward_time.h"

#include "planner/memory/activation_coefficients.h"
#include "planner/memory/block_table.h"
#include "planner/memory/stage_shape.h"
#include "planner/model/parameters.h"
#include "planner/placement.h"
#include "planner/time/links.h"

namespace caravan::planner {
namespace {

struct ForwardFlops {
  double layer = 0;      // matrix products
  double attention = 0;  // causal
  double head = 0;
};

ForwardFlops forward_flops(const PlanRequest& request, const Layout& layout) {
  const ModelShape& shape = request.shape;
  const double tokens = static_cast<double>(request.training.sequence_length * layout.micro_batch_size);
  const double local = tokens / layout.mesh.tensor;
  const auto attended =
      static_cast<double>(2 * shape.heads * shape.head_dim * request.training.sequence_length);
  return {.layer = 2 * static_cast<double>(layer_parameters(shape)) * local,
          .attention = attended * local,
          .head = 2 * static_cast<double>(embedding_parameters(shape)) * local};
}

// What kernels write to memory. Whatever is kept or made again, a forward of our trainer writes every row of
// its table.
struct WrittenBytes {
  double layer = 0;
  double logits = 0;
};

WrittenBytes written_bytes(const StageShape& stage, const EngineProfile& profile) {
  if (profile.activations) {
    return {.layer = layer_bytes(stage, *profile.activations),
            .logits = logits_bytes(stage, *profile.activations)};
  }
  WrittenBytes written;
  for (const SavedTensor& row : layer_table(stage)) written.layer += static_cast<double>(row.bytes);
  const auto logits = static_cast<double>(stage.micro_batch_size * stage.sequence_length * stage.model.vocab);
  const auto forms = static_cast<double>(bytes_of(stage.storage) + bytes_of(ElementType::FP32));
  written.logits = logits * forms / static_cast<double>(stage.tensor);
  return written;
}

double product_rate(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const auto tokens = static_cast<double>(request.training.sequence_length * layout.micro_batch_size);
  const double size = tokens * static_cast<double>(request.shape.hidden) / layout.mesh.tensor;
  const double reached = profile.gemm_efficiency * size / (size + profile.gemm_half_size);
  return request.devices.known->matrix_flops * reached;
}

// Two all-reduces a layer, or as many bytes in two all-gathers and two reduce-scatters.
double tensor_traffic_seconds(const PlanRequest& request, const Layout& layout,
                              const EngineProfile& profile) {
  if (layout.mesh.tensor == 1) return 0;
  const int collectives = layout.sequence_parallel ? 4 : 2;
  const double others = static_cast<double>(layout.mesh.tensor - 1) / layout.mesh.tensor;
  const double bytes = 2 * 2 * others * boundary_bytes(request, layout);
  return collectives * profile.collective_latency_seconds +
         bytes / group_bandwidth(request.devices, profile, layout.mesh, Axis::Tensor);
}

}  // namespace

double boundary_bytes(const PlanRequest& request, const Layout& layout) {
  return static_cast<double>(request.training.sequence_length * layout.micro_batch_size *
                             request.shape.hidden * request.training.storage_bytes());
}

ForwardTime forward_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const ForwardFlops flops = forward_flops(request, layout);
  if (!request.devices.known)
    return {.layer = flops.layer, .attention = flops.attention, .traffic = 0, .head = flops.head};

  const DeviceProduct& device = *request.devices.known;
  const double rate = product_rate(request, layout, profile);
  const WrittenBytes written =
      written_bytes(stage_shape(request, layout, place_layers(layout).groups.front()), profile);
  const double pass = profile.layer_memory_passes / device.memory_bandwidth;
  return {.layer = flops.layer / rate + pass * written.layer + profile.layer_overhead_seconds,
          .attention = flops.attention / (device.peak_flops * profile.attention_efficiency),
          .traffic = tensor_traffic_seconds(request, layout, profile),
          .head = flops.head / rate + written.logits / device.memory_bandwidth};
}

}  // namespace caravan::planner
