#include "planner/search/enumerate.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "planner/memory/memory_model.h"
#include "planner/search/legality.h"
#include "planner/search/preference.h"
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

std::vector<int> micro_batch_sizes(const PlanRequest& request, int data) {
  if (request.fixed.micro_batch_size) return {*request.fixed.micro_batch_size};
  std::vector<int> sizes = {1};
  for (int size = 2; size <= kMaximumMicroBatch; ++size) {
    if (request.training.global_batch_sequences % (int64_t{data} * size) == 0) sizes.push_back(size);
  }
  return sizes;
}

std::vector<bool> sequence_parallel_choices(const PlanRequest& request, int tensor) {
  if (request.fixed.sequence_parallel) return {*request.fixed.sequence_parallel};
  if (tensor == 1 || request.training.sequence_length % tensor != 0) return {false};
  if (check_tensor(request, tensor)) return {true};
  return {true, false};
}

std::vector<bool> checkpointing_choices(const PlanRequest& request) {
  if (request.fixed.checkpointing == CheckpointingPolicy::Always) return {true};
  if (request.fixed.checkpointing == CheckpointingPolicy::Never) return {false};
  return {false, true};
}

// Stage 1 is what a job has that says nothing, so an engine that shards more may do so; without sharding
// there is something to compare with.
std::vector<int> zero_stages(const PlanRequest& request, const EngineProfile& profile, const Layout& layout) {
  std::vector<int> stages = {request.fixed.zero_stage};
  if (request.fixed.zero_stage != 1) return stages;
  for (int stage = 2; stage <= profile.max_zero_stage; ++stage) stages.push_back(stage);
  const bool by_the_rule = layout.micro_batch_size == 1 && !layout.activation_checkpointing;
  if (layout.mesh.data > 1 && by_the_rule) stages.push_back(0);
  return stages;
}

std::vector<int> virtual_stages(const PlanRequest& request, const EngineProfile& profile,
                                const Layout& layout) {
  if (request.fixed.virtual_stages) return {*request.fixed.virtual_stages};
  std::vector<int> counts = {1};
  const bool open = !request.fixed.schedule || *request.fixed.schedule == ScheduleKind::Interleaved;
  const bool whole_rounds = micro_batches(request.training, layout) % layout.mesh.pipeline == 0;
  if (layout.mesh.pipeline == 1 || !open || !whole_rounds) return counts;
  for (int count = 2; count <= profile.max_virtual_stages; ++count) {
    const auto uneven = [&](int layers) { return layers % count != 0; };
    const bool even = request.fixed.layers_per_stage.empty()
                          ? request.shape.layers % (int64_t{layout.mesh.pipeline} * count) == 0
                          : std::ranges::none_of(request.fixed.layers_per_stage, uneven);
    if (even) counts.push_back(count);
  }
  return counts;
}

// layout: all but its split.
std::vector<int> layers_of(const PlanRequest& request, const EngineProfile& profile, const Layout& layout) {
  if (!request.fixed.layers_per_stage.empty()) return request.fixed.layers_per_stage;
  const int64_t layers = request.shape.layers;
  const int stages = layout.mesh.pipeline;
  if (stages > layers) return std::vector<int>(stages, 0);
  if (profile.stage_split == StageSplit::Even || layout.virtual_stages > 1)
    return split_layers(layers, stages, 0);
  if (profile.stage_split == StageSplit::Filled)
    return fill_stages(layers, stages, head_in_parameters(request.shape));
  return stages == 1 ? std::vector<int>{static_cast<int>(layers)}
                     : split_layers(layers, stages, head_in_time(request, layout, profile));
}

ScheduleKind schedule_of(const PlanRequest& request, int virtual_stages) {
  const auto open = virtual_stages > 1 ? ScheduleKind::Interleaved : ScheduleKind::OneFOneB;
  return request.fixed.schedule.value_or(open);
}

void append_memory_choices(const PlanRequest& request, const EngineProfile& profile, Layout layout,
                           std::vector<Layout>& layouts) {
  for (const bool checkpointing : checkpointing_choices(request)) {
    layout.activation_checkpointing = checkpointing;
    layout.layers_per_stage = layers_of(request, profile, layout);
    for (const int zero_stage : zero_stages(request, profile, layout)) {
      layout.zero_stage = zero_stage;
      layouts.push_back(layout);
    }
  }
}

auto rule_order(const Layout& layout) {
  return std::make_tuple(layout.mesh.tensor * layout.mesh.pipeline, layout.mesh.tensor, layout.virtual_stages,
                         layout.micro_batch_size, !layout.sequence_parallel, layout.activation_checkpointing,
                         layout.zero_stage);
}

}  // namespace

std::vector<Layout> layouts_of_sizes(const PlanRequest& request, const EngineProfile& profile, int tensor,
                                     int pipeline, int data) {
  std::vector<Layout> layouts;
  Layout layout{.mesh = {.tensor = tensor, .data = data, .pipeline = pipeline}, .layers_per_stage = {}};
  for (const int micro_batch_size : micro_batch_sizes(request, data)) {
    layout.micro_batch_size = micro_batch_size;
    for (const int chunks : virtual_stages(request, profile, layout)) {
      layout.virtual_stages = chunks;
      layout.schedule = schedule_of(request, chunks);
      for (const bool sequence_parallel : sequence_parallel_choices(request, tensor)) {
        layout.sequence_parallel = sequence_parallel;
        append_memory_choices(request, profile, layout, layouts);
      }
    }
  }
  return layouts;
}

std::vector<Layout> enumerate_layouts(const PlanRequest& request, const EngineProfile& profile) {
  std::vector<Layout> layouts;
  for (const int tensor : tensor_sizes(request)) {
    for (const int pipeline : pipeline_sizes(request, tensor)) {
      const int data = request.fixed.data.value_or(std::max(1, request.devices.count / (tensor * pipeline)));
      auto more = layouts_of_sizes(request, profile, tensor, pipeline, data);
      layouts.insert(layouts.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
    }
  }
  std::ranges::stable_sort(layouts, {}, rule_order);
  return layouts;
}

}  // namespace caravan::planner
