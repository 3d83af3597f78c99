#include "planner/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/quantity.h"
#include "planner/job_shape.h"
#include "planner/model/parameters.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {
namespace {

// Of products that nobody knows.
constexpr int kGpusPerNode = 8;
constexpr int kCpuDevicesPerNode = 16;

Result<DevicePool> read_devices(const v1alpha1::Resources& resources, const DeviceFacts& facts) {
  DevicePool pool;
  pool.count = resources.devices();
  pool.gpu = resources.device().kind() != v1alpha1::Device::CPU;
  pool.product = resources.device().product();
  pool.known =
      pool.gpu ? find_device(pool.product, facts.own_products) : find_among(facts.own_products, pool.product);

  const int of_unknown = pool.gpu ? kGpusPerNode : kCpuDevicesPerNode;
  const int usual = pool.known ? pool.known->devices_per_node : of_unknown;
  pool.node_size = resources.has_devices_per_node() ? resources.devices_per_node()
                                                    : facts.devices_per_node.value_or(usual);
  pool.only_whole_nodes = resources.has_devices_per_node();
  if (pool.count > pool.maximum()) {
    return bad_input(
        fmt::format("spec.resources.devices: devices must be at most {0} x devicesPerNode: a job may have at "
                    "most {0} nodes; devices is {1}, devicesPerNode is {2}",
                    kMaximumNodes, pool.count, pool.node_size));
  }
  pool.per_node = spread(pool.count, pool.node_size).ranks_per_node();

  if (!resources.device().memory().empty()) {
    const auto bytes = parse_quantity(resources.device().memory());
    if (!bytes) return bad_input("spec.resources.device.memory: " + bytes.error().message);
    if (*bytes < 1) return bad_input("spec.resources.device.memory: must be more than 0");
    pool.memory_bytes = *bytes;
  } else if (pool.known) {
    pool.memory_bytes = pool.known->memory_bytes;
  } else {
    pool.memory_bytes = facts.memory_bytes;
  }
  if (!pool.gpu) pool.threads = facts.threads_per_rank;
  const bool nobody_says = resources.device().memory().empty() && !pool.known;
  if (!pool.gpu && facts.machine && nobody_says) pool.share(*facts.machine);
  if (pool.gpu && !pool.memory_bytes) {
    return bad_input(fmt::format(
        "spec.resources.device: the memory of {} is not known; set product to one of {}, or set memory",
        pool.product.empty() ? "the GPU" : '"' + pool.product + '"',
        fmt::join(device_names(facts.own_products), ", ")));
  }
  return pool;
}

CheckpointingPolicy policy_of(v1alpha1::ActivationCheckpointing::Value value) {
  if (value == v1alpha1::ActivationCheckpointing::Always) return CheckpointingPolicy::Always;
  if (value == v1alpha1::ActivationCheckpointing::Never) return CheckpointingPolicy::Never;
  return CheckpointingPolicy::WhenNeeded;
}

Result<FixedChoices> read_choices(const v1alpha1::Parallelism& given) {
  FixedChoices fixed;
  if (given.has_tensor()) fixed.tensor = given.tensor();
  if (given.has_pipeline()) fixed.pipeline = given.pipeline();
  if (given.has_data()) fixed.data = given.data();
  if (given.has_micro_batch_size()) fixed.micro_batch_size = given.micro_batch_size();
  if (given.has_virtual_stages()) fixed.virtual_stages = given.virtual_stages();
  if (given.has_segments()) fixed.segments = given.segments();
  if (given.has_sequence_parallel()) fixed.sequence_parallel = given.sequence_parallel();
  fixed.layers_per_stage.assign(given.layers_per_stage().begin(), given.layers_per_stage().end());
  fixed.checkpointing = policy_of(given.activation_checkpointing());
  if (given.has_zero_stage()) fixed.zero_stage = given.zero_stage();
  if (!given.schedule().empty() && given.schedule() != "Auto") {
    fixed.schedule = schedule_from_name(given.schedule());
    if (!fixed.schedule)
      return bad_input(
          fmt::format("spec.parallelism.schedule: there is no schedule {}; leave it out", given.schedule()));
  }
  if (given.mode() == v1alpha1::Parallelism::Manual && !fixed.all_sizes()) {
    return bad_input("spec.parallelism.mode: mode Manual needs tensor, pipeline and data");
  }
  if (!fixed.layers_per_stage.empty() && !fixed.pipeline)
    fixed.pipeline = static_cast<int>(fixed.layers_per_stage.size());
  return fixed;
}

Status check_positive(const v1alpha1::JobSpec& spec) {
  const v1alpha1::Resources& resources = spec.resources();
  const v1alpha1::Parallelism& given = spec.parallelism();
  const std::pair<const char*, int> numbers[] = {
      {"training.sequenceLength", spec.training().sequence_length()},
      {"training.globalBatchSequences", spec.training().global_batch_sequences()},
      {"resources.devices", resources.devices()},
      {"resources.devicesPerNode", resources.has_devices_per_node() ? resources.devices_per_node() : 1},
      {"parallelism.tensor", given.has_tensor() ? given.tensor() : 1},
      {"parallelism.pipeline", given.has_pipeline() ? given.pipeline() : 1},
      {"parallelism.data", given.has_data() ? given.data() : 1},
      {"parallelism.microBatchSize", given.has_micro_batch_size() ? given.micro_batch_size() : 1},
      {"parallelism.virtualStages", given.has_virtual_stages() ? given.virtual_stages() : 1},
      {"parallelism.segments", given.has_segments() ? given.segments() : 1},
      {"parallelism.layersPerStage",
       given.layers_per_stage().empty() ? 1 : std::ranges::min(given.layers_per_stage())},
  };
  for (const auto& [path, value] : numbers) {
    if (value < 1) return bad_input(fmt::format("spec.{}: must be at least 1; it is {}", path, value));
  }
  return {};
}

// At once, by one stage.
double held_micro_batches(const PlanRequest& request) {
  if (request.fixed.schedule != ScheduleKind::GPipe) return 1;
  const int64_t each = int64_t{request.fixed.micro_batch_size.value_or(1)} * request.fixed.data.value_or(1);
  return std::max(1.0,
                  static_cast<double>(request.training.global_batch_sequences) / static_cast<double>(each));
}

}  // namespace

Status check_counts(const PlanRequest& request) {
  constexpr double kMost = 0x1p55;
  constexpr double kTensorsOfALayer = 16;
  const ModelShape& shape = request.shape;
  const auto widest =
      static_cast<double>(std::max({shape.hidden, shape.ffn, shape.vocab, shape.heads * shape.head_dim}));
  const double tokens = static_cast<double>(request.training.sequence_length) *
                        static_cast<double>(request.fixed.micro_batch_size.value_or(1));
  const double held = held_micro_batches(request);
  const double elements = tokens * widest * kTensorsOfALayer * static_cast<double>(shape.layers) * held;
  const double products = tokens * widest * static_cast<double>(shape.hidden);
  const double scores = tokens * static_cast<double>(request.training.sequence_length) *
                        static_cast<double>(shape.heads) * bytes_of(ElementType::FP32);
  if (const auto parameters = static_cast<double>(parameter_count(shape)); parameters >= kMost)
    return bad_input(
        fmt::format("spec.model: {:.3g} parameters are more than can be planned for", parameters));
  if (std::max({elements, products, scores}) < kMost) return {};
  if (held > 1 && std::max({elements / held, products, scores}) < kMost) {
    return bad_input(fmt::format(
        "spec.parallelism.schedule: the {:.3g} micro-batches that GPipe holds at once are more than "
        "can be planned for with a model of this size",
        held));
  }
  return bad_input(
      fmt::format("spec.training.sequenceLength: {:.3g} tokens of a micro-batch are more than can be planned "
                  "for with a model of this size",
                  tokens));
}

Result<PlanRequest> read_request(const v1alpha1::JobSpec& spec, const DeviceFacts& facts) {
  if (Status status = check_positive(spec); !status) return tl::unexpected(status.error());
  auto shape = resolve_model_shape(spec.model());
  if (!shape) return tl::unexpected(shape.error());
  auto devices = read_devices(spec.resources(), facts);
  if (!devices) return tl::unexpected(devices.error());
  auto fixed = read_choices(spec.parallelism());
  if (!fixed) return tl::unexpected(fixed.error());

  PlanRequest request;
  request.shape = *std::move(shape);
  request.training = {.sequence_length = spec.training().sequence_length(),
                      .global_batch_sequences = spec.training().global_batch_sequences(),
                      .steps = spec.training().steps(),
                      .bf16 = spec.training().precision() != v1alpha1::Precision::FP32,
                      .bf16_moments = spec.training().optimizer().state_type() == v1alpha1::Precision::BF16};
  request.devices = *std::move(devices);
  request.fixed = *std::move(fixed);
  request.writes_checkpoints = spec.has_checkpoint();
  const auto topology = spec.scheduling().topology().mode();
  request.keeps_copies_together =
      topology == v1alpha1::Topology::Preferred || topology == v1alpha1::Topology::Required;
  if (Status counted = check_counts(request); !counted) return tl::unexpected(counted.error());
  return request;
}

}  // namespace caravan::planner
