#include "planner/search/enumerate.h"

#include <algorithm>
#include <tuple>

#include "planner/search/legality.h"
#include "planner/search/split_layers.h"

namespace caravan::planner {
namespace {

constexpr int kMaximumTensor = 16;

std::vector<int> tensor_sizes(const PlanRequest& request) {
  if (request.fixed.tensor) return {*request.fixed.tensor};
  std::vector<int> sizes;
  for (int tensor = 1; tensor <= std::min(kMaximumTensor, request.devices.count); ++tensor) {
    if (request.devices.count % tensor == 0) sizes.push_back(tensor);
  }
  return sizes;
}

std::vector<int> pipeline_sizes(const PlanRequest& request, int tensor) {
  if (request.fixed.pipeline) return {*request.fixed.pipeline};
  const int rest = request.devices.count / tensor;
  if (request.fixed.data) return {std::max(1, rest / *request.fixed.data)};
  // An illegal tensor size needs no more than one witness.
  if (rest < 1 || check_tensor(request, tensor)) return {1};
  std::vector<int> sizes;
  for (int pipeline = 1; pipeline <= std::min<int64_t>(rest, request.shape.layers); ++pipeline) {
    if (rest % pipeline == 0) sizes.push_back(pipeline);
  }
  return sizes;
}

std::vector<int> micro_batch_sizes(const PlanRequest& request, Breadth breadth, int model_parallel) {
  if (request.fixed.micro_batch_size) return {*request.fixed.micro_batch_size};
  // With nothing left to give up, larger micro-batches may pay; whether they do, only a known device tells.
  const bool may_pay = model_parallel == 1 && request.devices.known.has_value();
  if (breadth == Breadth::All || may_pay) return {1, 2, 4, 8};
  return {1};
}

std::vector<bool> sequence_parallel_choices(const PlanRequest& request, Breadth breadth, int tensor) {
  if (request.fixed.sequence_parallel) return {*request.fixed.sequence_parallel};
  if (tensor == 1 || request.training.sequence_length % tensor != 0) return {false};
  if (breadth == Breadth::All && !check_tensor(request, tensor)) return {true, false};
  return {true};
}

std::vector<int> layers_of(const PlanRequest& request, int pipeline) {
  if (!request.fixed.layers_per_stage.empty()) return request.fixed.layers_per_stage;
  if (pipeline > request.shape.layers) return std::vector<int>(pipeline, 0);
  return split_layers(request.shape.layers, pipeline);
}

auto rule_order(const Layout& layout) {
  return std::make_tuple(layout.tensor * layout.pipeline, layout.tensor, layout.micro_batch_size,
                         !layout.sequence_parallel);
}

}  // namespace

std::vector<Layout> enumerate_layouts(const PlanRequest& request, bool activation_checkpointing,
                                      Breadth breadth) {
  std::vector<Layout> layouts;
  for (const int tensor : tensor_sizes(request)) {
    for (const int pipeline : pipeline_sizes(request, tensor)) {
      Layout layout;
      layout.tensor = tensor;
      layout.pipeline = pipeline;
      layout.data = request.fixed.data.value_or(std::max(1, request.devices.count / (tensor * pipeline)));
      layout.activation_checkpointing = activation_checkpointing;
      layout.layers_per_stage = layers_of(request, pipeline);
      layout.schedule = request.fixed.schedule.value_or(ScheduleKind::OneFOneB);
      layout.zero_stage = request.fixed.zero_stage;
      for (const int micro_batch_size : micro_batch_sizes(request, breadth, tensor * pipeline)) {
        for (const bool sequence_parallel : sequence_parallel_choices(request, breadth, tensor)) {
          layout.micro_batch_size = micro_batch_size;
          layout.sequence_parallel = sequence_parallel;
          layouts.push_back(layout);
        }
      }
    }
  }
  std::ranges::stable_sort(layouts, {}, rule_order);
  return layouts;
}

}  // namespace caravan::planner
