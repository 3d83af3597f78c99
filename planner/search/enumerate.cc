#include "planner/search/enumerate.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "planner/memory/memory_model.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/segments.h"
#include "planner/search/legality.h"
#include "planner/search/preference.h"
#include "planner/search/split_layers.h"

namespace caravan::planner {
namespace {

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
  for (int pipeline = 1; pipeline <= std::min<int64_t>({rest, request.shape.layers, kMostPipelineStages});
       ++pipeline) {
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

// Of a stage's layers each of its chunks has as many.
bool has_whole_chunks(const PlanRequest& request, const EngineProfile& profile, int stages, int chunks) {
  const std::vector<int>& given = request.fixed.layers_per_stage;
  if (!given.empty()) return std::ranges::all_of(given, [&](int layers) { return layers % chunks == 0; });
  const int64_t layers = request.shape.layers;
  if (profile.stage_split == StageSplit::Even) return layers % (int64_t{stages} * chunks) == 0;
  return layers % chunks == 0 && layers / chunks >= stages;
}

std::vector<int> chunks_of_interleaved(const PlanRequest& request, const EngineProfile& profile,
                                       const Layout& layout) {
  std::vector<int> counts;
  const int stages = layout.mesh.pipeline;
  const bool whole_rounds = micro_batches(request.training, layout) % stages == 0;
  if (stages == 1 || !whole_rounds) return counts;
  for (int count = 2; count <= profile.max_virtual_stages; ++count) {
    if (has_whole_chunks(request, profile, stages, count)) counts.push_back(count);
  }
  return counts;
}

struct CutSchedule {
  ScheduleKind kind = ScheduleKind::OneFOneB;
  int chunks = 1;
  int segments = 1;
};

std::vector<int> chunks_of(const PlanRequest& request, const EngineProfile& profile, const Layout& layout,
                           ScheduleKind kind) {
  if (request.fixed.virtual_stages) return {*request.fixed.virtual_stages};
  std::vector<int> counts;
  if (kind == ScheduleKind::Interleaved) counts = chunks_of_interleaved(request, profile, layout);
  if (counts.empty()) counts = {smallest_spec(kind, layout.mesh.pipeline, /*micro_batches=*/1).chunks};
  return counts;
}

// More of them make the bubble shorter and each op less efficient.
std::vector<int> segments_of(const PlanRequest& request, ScheduleKind kind) {
  if (request.fixed.segments) return {*request.fixed.segments};
  if (!cuts_sequences(kind)) return {1};
  return {2, 4, 8};
}

// At least one, which may be illegal, so that it can be explained.
std::vector<CutSchedule> schedules_of(const PlanRequest& request, const EngineProfile& profile,
                                      const Layout& layout) {
  const bool in_chunks = request.fixed.virtual_stages.value_or(1) > 1;
  const auto open = in_chunks ? ScheduleKind::Interleaved : ScheduleKind::OneFOneB;
  const ScheduleKind kind = request.fixed.schedule.value_or(open);
  std::vector<CutSchedule> schedules;
  for (const int chunks : chunks_of(request, profile, layout, kind)) {
    for (const int segments : segments_of(request, kind)) schedules.push_back({kind, chunks, segments});
  }
  return schedules;
}

// In operations of products that take as long. On GPUs most of attention is that of later segments, by a
// kernel of its own; the first one, whose attention is cheaper, comes out somewhat short.
TokenCost token_cost_of(const PlanRequest& request, const EngineProfile& profile) {
  TokenCost cost = token_cost(request.shape);
  // Attention of fp32 is products like all others.
  if (!request.devices.gpu || !request.devices.known || !request.training.bf16) return cost;
  const DeviceProduct& device = *request.devices.known;
  const double attention = profile.segment_attention_efficiency.value_or(profile.attention_efficiency);
  cost.before *= device.matrix_flops * profile.gemm_efficiency / (device.peak_flops * attention);
  return cost;
}

void set_schedule(Layout& layout, const PlanRequest& request, const EngineProfile& profile,
                  const CutSchedule& schedule) {
  layout.schedule = schedule.kind;
  layout.virtual_stages = schedule.chunks;
  layout.segments.clear();
  if (schedule.segments == 1) return;
  const int multiple = layout.sequence_parallel ? layout.mesh.tensor : 1;
  layout.segments = balanced_segments(request.training.sequence_length, schedule.segments, multiple,
                                      token_cost_of(request, profile));
}

// Where chunks cannot be whole it is a split that breaks the rule, so that it can be explained.
std::vector<int> layers_of_interleaved(const PlanRequest& request, const EngineProfile& profile,
                                       const Layout& layout) {
  const int64_t layers = request.shape.layers;
  const int stages = layout.mesh.pipeline;
  const int chunks = layout.virtual_stages;
  if (!has_whole_chunks(request, profile, stages, chunks)) return split_layers(layers, stages, 0);
  const double head_layers = head_in_time(request, layout, profile);
  std::vector<int> split = split_layers(layers / chunks, stages, head_layers / chunks);
  for (int& of_stage : split) of_stage *= chunks;
  return split;
}

// layout: all but its split.
std::vector<int> layers_of(const PlanRequest& request, const EngineProfile& profile, const Layout& layout) {
  if (!request.fixed.layers_per_stage.empty()) return request.fixed.layers_per_stage;
  const int64_t layers = request.shape.layers;
  const int stages = layout.mesh.pipeline;
  if (stages > layers) return std::vector<int>(stages, 0);
  if (profile.stage_split == StageSplit::Even) return split_layers(layers, stages, 0);
  if (layout.schedule == ScheduleKind::Interleaved) return layers_of_interleaved(request, profile, layout);
  if (profile.stage_split == StageSplit::Filled)
    return fill_stages(layers, stages, head_in_parameters(request.shape));
  if (stages == 1) return {static_cast<int>(layers)};
  const int fewest = layers < int64_t{stages} * layout.virtual_stages ? 1 : layout.virtual_stages;
  std::vector<int> split = split_layers(layers, stages, head_in_time(request, layout, profile), fewest);
  if (stands_as_a_v(layout.schedule)) std::ranges::reverse(split);  // the head stands on the first stage
  return split;
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
                         layout.segments.size(), layout.micro_batch_size, !layout.sequence_parallel,
                         layout.activation_checkpointing, layout.zero_stage);
}

}  // namespace

std::vector<Layout> layouts_of_sizes(const PlanRequest& request, const EngineProfile& profile, int tensor,
                                     int pipeline, int data) {
  std::vector<Layout> layouts;
  Layout layout{.mesh = {.tensor = tensor, .data = data, .pipeline = pipeline}, .layers_per_stage = {}};
  for (const int micro_batch_size : micro_batch_sizes(request, data)) {
    layout.micro_batch_size = micro_batch_size;
    for (const CutSchedule& schedule : schedules_of(request, profile, layout)) {
      for (const bool sequence_parallel : sequence_parallel_choices(request, tensor)) {
        layout.sequence_parallel = sequence_parallel;
        set_schedule(layout, request, profile, schedule);
        append_memory_choices(request, profile, layout, layouts);
      }
    }
  }
  return layouts;
}

std::vector<Layout> with_other_schedules(const PlanRequest& request, const EngineProfile& profile,
                                         const Layout& layout) {
  const int stages = layout.mesh.pipeline;
  if (request.fixed.schedule || request.fixed.virtual_stages.value_or(1) > 1) return {};
  if (stages == 1 || stages > kMostStagesOfOthers) return {};
  std::vector<Layout> others;
  const auto consider = [&](const CutSchedule& schedule) {
    if (request.fixed.virtual_stages && schedule.chunks != 1) return;
    Layout other = layout;
    set_schedule(other, request, profile, schedule);
    other.layers_per_stage = layers_of(request, profile, other);
    if (!find_illegality(request, other, profile)) others.push_back(std::move(other));
  };
  for (const int chunks : chunks_of_interleaved(request, profile, layout))
    consider({ScheduleKind::Interleaved, chunks});
  const auto count = static_cast<int>(micro_batches(request.training, layout));
  for (const ScheduleKind kind : all_schedule_kinds()) {
    if (!(splits_backward(kind) || cuts_sequences(kind)) || !may_be_asked_for(kind)) continue;
    const ScheduleSpec spec = smallest_spec(kind, stages, count);
    if (!has_fixed_order(kind) && stages > kMostStagesOfOpenV) continue;
    if (!caution(spec).empty()) continue;
    for (const int segments : segments_of(request, kind)) consider({kind, spec.chunks, segments});
  }
  return others;
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
