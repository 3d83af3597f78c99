#include "planner/search/remedy.h"

#include <fmt/format.h>

#include <cmath>

#include "common/readable_bytes.h"
#include "planner/memory/risk.h"
#include "planner/search/device_count.h"
#include "planner/search/reasons.h"

namespace caravan::planner {
namespace {

PlanRequest without_sizes(PlanRequest request) {
  request.fixed.tensor.reset();
  request.fixed.pipeline.reset();
  request.fixed.data.reset();
  request.fixed.layers_per_stage.clear();
  return request;
}

std::optional<std::string> smaller_micro_batch(PlanRequest request, const EngineProfile& profile) {
  for (int size = request.fixed.micro_batch_size.value_or(1) / 2; size >= 1; size /= 2) {
    request.fixed.micro_batch_size = size;
    if (anything_fits(request, profile)) return fmt::format("spec.parallelism.microBatchSize: {}", size);
  }
  return std::nullopt;
}

// One that holds fewer micro-batches.
std::optional<std::string> other_schedule(PlanRequest request, const EngineProfile& profile) {
  const auto given = request.fixed.schedule;
  const bool in_chunks = request.fixed.virtual_stages.value_or(1) > 1;
  if (given.value_or(ScheduleKind::OneFOneB) == ScheduleKind::OneFOneB && !in_chunks) return std::nullopt;
  request.fixed.virtual_stages.reset();
  for (const ScheduleKind kind : {ScheduleKind::ZeroBubbleH1, ScheduleKind::OneFOneB}) {
    if (kind == ScheduleKind::ZeroBubbleH1 && given != ScheduleKind::ZeroBubbleH2) continue;
    request.fixed.schedule = kind;
    if (anything_fits(request, profile))
      return fmt::format("spec.parallelism.schedule: {}{}", schedule_name(kind),
                         in_chunks ? ", without spec.parallelism.virtualStages" : "");
  }
  return std::nullopt;
}

// Of optimizer states over the replicas.
std::optional<std::string> sharding(PlanRequest request, const EngineProfile& profile) {
  if (request.fixed.zero_stage != 0) return std::nullopt;
  request.fixed.zero_stage = 1;
  if (!anything_fits(request, profile)) return std::nullopt;
  return "spec.parallelism.zeroStage: 1";
}

std::optional<std::string> checkpointing(PlanRequest request, const EngineProfile& profile) {
  if (request.fixed.checkpointing != CheckpointingPolicy::Never) return std::nullopt;
  request.fixed.checkpointing = CheckpointingPolicy::WhenNeeded;
  if (!anything_fits(request, profile)) return std::nullopt;
  return "spec.parallelism.activationCheckpointing: WhenNeeded";
}

std::optional<std::string> free_sizes(const PlanRequest& request, const EngineProfile& profile) {
  const FixedChoices& fixed = request.fixed;
  if (!fixed.tensor && !fixed.pipeline && !fixed.data) return std::nullopt;
  if (!anything_fits(without_sizes(request), profile)) return std::nullopt;
  return "spec.parallelism.mode: Auto, without tensor, pipeline, data and layersPerStage";
}

std::optional<std::string> shorter_sequences(PlanRequest request, const EngineProfile& profile) {
  for (int64_t length = request.training.sequence_length / 2; length >= 1; length /= 2) {
    request.training.sequence_length = length;
    if (anything_fits(request, profile)) return fmt::format("spec.training.sequenceLength: {}", length);
  }
  return std::nullopt;
}

std::optional<std::string> smallest_change(const PlanRequest& request, const EngineProfile& profile) {
  for (const auto& attempt :
       {smaller_micro_batch, other_schedule, sharding, checkpointing, shorter_sequences}) {
    if (auto change = attempt(request, profile)) return change;
  }
  return std::nullopt;
}

const EvaluatedLayout& leanest(const SearchResult& result) {
  const EvaluatedLayout* best = nullptr;
  for (const EvaluatedLayout& candidate : result.candidates) {
    if (candidate.illegality) continue;
    if (!best || candidate.memory.peak_bytes() < best->memory.peak_bytes()) best = &candidate;
  }
  return *best;
}

std::string devices_in_words(const DevicePool& devices) {
  const std::string kind = devices.known ? std::string(devices.known->name)
                           : devices.gpu ? "GPU"
                                         : "CPU rank";
  return fmt::format("{} {}{}", devices.count, kind, devices.count == 1 || devices.known ? "" : "s");
}

std::string say_devices(const PlanRequest& request, const DeviceCount& count) {
  const std::string nodes =
      count.whole_nodes ? fmt::format(" in whole nodes of {}", request.devices.node_size) : "";
  if (count.smallest && count.everything_tried)
    return fmt::format(" The smallest number of devices{} that fits is {}.", nodes, *count.smallest);
  if (count.smallest) return fmt::format(" {} devices would do.", *count.smallest);
  if (!count.everything_tried) return "";
  if (request.devices.machine)
    return " No other number of ranks fits, since all share the memory of this machine.";
  return fmt::format(" No number of devices up to {} fits.", request.devices.maximum());
}

// Rounded up.
std::string enough_bytes(int64_t bytes) {
  const double shown = byte_unit_of(bytes).bytes / 10;
  return readable_bytes(static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / shown) * shown));
}

// With room to spare for what the prediction may be off.
std::string say_memory(const PlanRequest& request, const EngineProfile& profile,
                       const EvaluatedLayout& layout) {
  const int64_t usable = sure_bytes(layout.memory.peak_bytes(), request, profile);
  return fmt::format(" With {} of memory each they would do{}.",
                     enough_bytes(memory_for(usable, request.devices, profile)),
                     layout.preference.other_schedule ? "" : with_1f1b(request, layout.layout));
}

}  // namespace

std::string name_shortage(const PlanRequest& request, const EngineProfile& profile,
                          const SearchResult& result) {
  const EvaluatedLayout& best = leanest(result);
  return fmt::format(
      "spec.resources: the job does not fit on {}: of {} layouts {} needs least, and there {}.",
      devices_in_words(request.devices), result.candidates.size(), layout_label(best.layout),
      shortage_reason(request, profile, best));
}

std::string describe_shortage(const PlanRequest& request, const EngineProfile& profile,
                              const SearchResult& result) {
  std::string text = name_shortage(request, profile, result);
  const auto freed = free_sizes(request, profile);
  if (freed) text += fmt::format(" These devices suffice with {}.", *freed);
  text += say_devices(request, smallest_device_count(request, profile));
  if (const auto change = smallest_change(request, profile)) {
    text += fmt::format(" The smallest change that fits these devices is {}.", *change);
  } else if (!freed && !request.must_need_less) {
    text += say_memory(request, profile, leanest(result));
  }
  return text;
}

}  // namespace caravan::planner
