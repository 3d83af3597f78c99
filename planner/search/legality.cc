#include "planner/search/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "planner/memory/memory_model.h"

namespace caravan::planner {
namespace {

// Arranging more takes long, on every rank too.
constexpr int kMostStagesOfAV = 32;
constexpr int64_t kMostUnitsOfAV = 1 << 17;  // stages × micro-batches

std::optional<Illegality> check_sizes(const PlanRequest& request, const Layout& layout) {
  if (layout.mesh.ranks() != request.devices.count) {
    return Illegality{
        "spec.parallelism",
        fmt::format("tensor x pipeline x data must equal spec.resources.devices; {} x {} x {} is not {}",
                    layout.mesh.tensor, layout.mesh.pipeline, layout.mesh.data, request.devices.count)};
  }
  return std::nullopt;
}

std::optional<Illegality> check_layers(const PlanRequest& request, const Layout& layout) {
  if (layout.mesh.pipeline > request.shape.layers) {
    return Illegality{
        "spec.parallelism.pipeline",
        fmt::format("there must be a layer for every pipeline stage; layers is {}, pipeline is {}",
                    request.shape.layers, layout.mesh.pipeline)};
  }
  if (layout.mesh.pipeline > kMostPipelineStages) {
    return Illegality{"spec.parallelism.pipeline",
                      fmt::format("at most {} stages are planned for; pipeline is {}", kMostPipelineStages,
                                  layout.mesh.pipeline)};
  }
  if (static_cast<int>(layout.layers_per_stage.size()) != layout.mesh.pipeline) {
    return Illegality{
        "spec.parallelism.layersPerStage",
        fmt::format("layersPerStage must have one entry for each pipeline stage; it has {}, pipeline is {}",
                    layout.layers_per_stage.size(), layout.mesh.pipeline)};
  }
  const int64_t sum =
      std::accumulate(layout.layers_per_stage.begin(), layout.layers_per_stage.end(), int64_t{0});
  if (sum != request.shape.layers) {
    return Illegality{
        "spec.parallelism.layersPerStage",
        fmt::format("layersPerStage must add up to the model's layers; its sum is {}, layers is {}", sum,
                    request.shape.layers)};
  }
  return std::nullopt;
}

std::optional<Illegality> check_batch(const PlanRequest& request, const Layout& layout) {
  const TrainingNumbers& training = request.training;
  if (training.global_batch_sequences % (static_cast<int64_t>(layout.mesh.data) * layout.micro_batch_size) !=
      0) {
    return Illegality{
        "spec.training.globalBatchSequences",
        fmt::format("globalBatchSequences must be divisible by data x microBatchSize; it is "
                    "{}, data is {}, microBatchSize is {}",
                    training.global_batch_sequences, layout.mesh.data, layout.micro_batch_size)};
  }
  if (layout.sequence_parallel && layout.mesh.tensor == 1) {
    return Illegality{"spec.parallelism.sequenceParallel", "sequenceParallel needs tensor > 1"};
  }
  if (layout.sequence_parallel && training.sequence_length % layout.mesh.tensor != 0) {
    return Illegality{"spec.training.sequenceLength",
                      fmt::format("sequenceLength must be divisible by tensor with sequence parallelism; "
                                  "sequenceLength is {}, tensor is {}",
                                  training.sequence_length, layout.mesh.tensor)};
  }
  return std::nullopt;
}

bool same_on_all_stages(const Layout& layout) {
  return std::ranges::adjacent_find(layout.layers_per_stage, std::ranges::not_equal_to{}) ==
         layout.layers_per_stage.end();
}

// Of other engines nothing else is known.
bool runs(const EngineProfile& profile, ScheduleKind kind) {
  if (kind == ScheduleKind::Interleaved) return true;  // with as many chunks as the profile says
  if (profile.activations) return kind == ScheduleKind::GPipe || kind == ScheduleKind::OneFOneB;
  return may_be_asked_for(kind);
}

std::optional<Illegality> check_engine(const PlanRequest& request, const Layout& layout,
                                       const EngineProfile& profile) {
  if (layout.virtual_stages > profile.max_virtual_stages) {
    return Illegality{"spec.parallelism.virtualStages",
                      fmt::format("engine {} runs at most {}; virtualStages is {}", profile.name,
                                  profile.max_virtual_stages, layout.virtual_stages)};
  }
  if (layout.schedule == ScheduleKind::Interleaved && profile.max_virtual_stages < 2) {
    return Illegality{"spec.parallelism.schedule",
                      fmt::format("engine {} has no virtual stages, which Interleaved needs", profile.name)};
  }
  if (!runs(profile, layout.schedule)) {
    return Illegality{"spec.parallelism.schedule",
                      fmt::format("engine {} does not run {}", profile.name, schedule_name(layout.schedule))};
  }
  if (layout.zero_stage > profile.max_zero_stage) {
    return Illegality{"spec.parallelism.zeroStage",
                      fmt::format("engine {} shards up to ZeRO stage {}; zeroStage is {}", profile.name,
                                  profile.max_zero_stage, layout.zero_stage)};
  }
  if (profile.stage_split == StageSplit::Even && !same_on_all_stages(layout)) {
    const bool given = !request.fixed.layers_per_stage.empty();
    return Illegality{
        given ? "spec.parallelism.layersPerStage" : "spec.parallelism.pipeline",
        fmt::format("engine {} has the same number of layers on each stage; layers is {}, pipeline is {}",
                    profile.name, request.shape.layers, layout.mesh.pipeline)};
  }
  return std::nullopt;
}

// Another number of chunks than the schedule has.
std::optional<std::string> wrong_chunks(const Layout& layout) {
  const bool interleaved = layout.schedule == ScheduleKind::Interleaved;
  const bool v = stands_as_a_v(layout.schedule);
  if (v ? layout.virtual_stages == 2 : interleaved == (layout.virtual_stages > 1)) return std::nullopt;
  const char* rule = v ? "a V-schedule has two chunks of layers on each stage, so virtualStages must be 2"
                       : "schedule Interleaved, and no other but the V-schedules, needs virtualStages > 1";
  return fmt::format("{}; schedule is {}, virtualStages is {}", rule, schedule_name(layout.schedule),
                     layout.virtual_stages);
}

std::optional<Illegality> check_virtual_stages(const PlanRequest& request, const Layout& layout) {
  const std::string path = "spec.parallelism.virtualStages";
  if (const auto wrong = wrong_chunks(layout)) return Illegality{path, *wrong};
  if (layout.virtual_stages == 1) return std::nullopt;
  if (layout.mesh.pipeline == 1) return Illegality{path, "virtual stages need pipeline > 1"};
  if (stands_as_a_v(layout.schedule) && layout.mesh.pipeline > kMostStagesOfAV) {
    return Illegality{"spec.parallelism.pipeline",
                      fmt::format("{} is arranged for at most {} stages; pipeline is {}",
                                  schedule_name(layout.schedule), kMostStagesOfAV, layout.mesh.pipeline)};
  }
  const int64_t count = micro_batches(request.training, layout);
  if (stands_as_a_v(layout.schedule) && count * layout.mesh.pipeline > kMostUnitsOfAV) {
    return Illegality{
        "spec.parallelism.schedule",
        fmt::format("{} is arranged for at most {} micro-batches in a step on {} stages, and this "
                    "job has {}; other schedules have no such bound",
                    schedule_name(layout.schedule), kMostUnitsOfAV / layout.mesh.pipeline,
                    layout.mesh.pipeline, count)};
  }
  const bool interleaved = layout.schedule == ScheduleKind::Interleaved;
  const auto does_not_do = [&](int layers) {
    return interleaved ? layers % layout.virtual_stages != 0 : layers < layout.virtual_stages;
  };
  if (std::ranges::any_of(layout.layers_per_stage, does_not_do)) {
    return Illegality{path, fmt::format("the layers of each stage must be {} virtualStages; layers is "
                                        "{}, pipeline is {}, virtualStages is {}",
                                        interleaved ? "divisible by" : "at least", request.shape.layers,
                                        layout.mesh.pipeline, layout.virtual_stages)};
  }
  if (!interleaved || count % layout.mesh.pipeline == 0) return std::nullopt;
  return Illegality{path,
                    fmt::format("schedule Interleaved needs a number of micro-batches that is divisible by "
                                "pipeline; a step has {} micro-batches, pipeline is {}",
                                count, layout.mesh.pipeline)};
}

std::optional<Illegality> check_segments(const PlanRequest& request, const Layout& layout) {
  const std::string_view name = schedule_name(layout.schedule);
  const int segments = layout.segment_count();
  if (cuts_sequences(layout.schedule) != (segments > 1)) {
    return Illegality{
        "spec.parallelism.segments",
        fmt::format("schedules {} and {}, and no others, cut sequences into 2 segments or more; "
                    "schedule is {}, segments is {}",
                    schedule_name(ScheduleKind::Seq1F1B), schedule_name(ScheduleKind::SeqZeroBubble), name,
                    segments)};
  }
  if (segments == 1) return std::nullopt;
  if (layout.micro_batch_size > 1) {
    return Illegality{"spec.parallelism.microBatchSize",
                      fmt::format("{} cuts sequences, so a micro-batch has one; microBatchSize is {}", name,
                                  layout.micro_batch_size)};
  }
  if (std::ranges::min(layout.segments) >= 1) return std::nullopt;
  return Illegality{"spec.parallelism.segments",
                    fmt::format("a sequence of {} tokens is too short to be cut into {} segments",
                                request.training.sequence_length, segments)};
}

// Why nodes have fewer of the job's ranks than they have devices.
std::string say_spread(const DevicePool& devices, int tensor) {
  if (devices.has_rack_switch() || devices.per_node == devices.node_size) return "";
  return fmt::format(
      ", since {0} devices are spread over nodes of {1}; set devicesPerNode to a multiple of {2} that "
      "divides "
      "{0}",
      devices.count, devices.node_size, tensor);
}

// Ranks stand on nodes in blocks of one size, so a group stays on one where that size is a multiple of it.
std::optional<Illegality> check_links(const DevicePool& devices, int tensor) {
  const std::string path = "spec.parallelism.tensor";
  const int joined = devices.joined();
  const bool by_switch = devices.has_rack_switch();
  const std::string limit = by_switch
                                ? fmt::format("the devices that a switch of {} joins", devices.known->name)
                                : "spec.resources.devicesPerNode";
  const std::string numbers =
      fmt::format("tensor parallelism never leaves {0}; tensor is {1}, {0} has {2}{3}",
                  by_switch ? "a switch" : "a node", tensor, joined, say_spread(devices, tensor));
  if (tensor > joined) return Illegality{path, fmt::format("tensor must be at most {}: {}", limit, numbers)};
  if (devices.count <= joined || joined % tensor == 0) return std::nullopt;
  return Illegality{path, fmt::format("{} must be divisible by tensor: {}", limit, numbers)};
}

}  // namespace

std::optional<Illegality> check_tensor(const PlanRequest& request, int tensor) {
  const std::string path = "spec.parallelism.tensor";
  const ModelShape& shape = request.shape;
  const auto indivisible = [&](const char* what, int64_t value) {
    return Illegality{path, fmt::format("{} must be divisible by tensor; {} is {}, tensor is {}", what, what,
                                        value, tensor)};
  };
  if (shape.heads % tensor != 0) return indivisible("heads", shape.heads);
  if (shape.kv_heads % tensor != 0) return indivisible("kvHeads", shape.kv_heads);
  if (shape.ffn % tensor != 0) return indivisible("ffnSize", shape.ffn);
  return check_links(request.devices, tensor);
}

std::optional<Illegality> find_illegality(const PlanRequest& request, const Layout& layout,
                                          const EngineProfile& profile) {
  if (auto broken = check_sizes(request, layout)) return broken;
  if (auto broken = check_tensor(request, layout.mesh.tensor)) return broken;
  if (auto broken = check_layers(request, layout)) return broken;
  if (auto broken = check_batch(request, layout)) return broken;
  if (auto broken = check_engine(request, layout, profile)) return broken;
  if (auto broken = check_virtual_stages(request, layout)) return broken;
  return check_segments(request, layout);
}

}  // namespace caravan::planner
