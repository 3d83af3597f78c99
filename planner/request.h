// What the planner works on: a job's numbers with everything resolved, and the choices that its user made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"
#include "planner/device/catalogue.h"
#include "planner/model/shape.h"
#include "planner/plan.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

// The schema's bound; each is a pod.
constexpr int kMaximumNodes = 16384;

struct TrainingNumbers {
  int64_t sequence_length = 0;
  int64_t global_batch_sequences = 0;
  int64_t steps = 0;
  bool bf16 = true;
  bool bf16_moments = false;

  int64_t storage_bytes() const { return bf16 ? 2 : 4; }
};

struct DevicePool {
  bool gpu = true;
  int count = 1;
  int node_size = 1;                     // devices that a node has
  bool only_whole_nodes = false;         // or fewer than one has: the job says node_size
  int per_node = 1;                      // of this job on one node; on the last one perhaps fewer
  std::optional<int64_t> memory_bytes;   // of one device; absent where nobody knows
  int threads = 1;                       // of one rank on a CPU; libraries have scratch for each
  std::optional<SharedMachine> machine;  // where the memory and the threads are parts of one
  std::string product;
  std::optional<DeviceProduct> known;  // absent: no speed, no MFU

  int64_t maximum() const { return int64_t{kMaximumNodes} * node_size; }

  void share(const SharedMachine& shared) {
    machine = shared;
    memory_bytes = shared.memory_per_rank(count);
    threads = shared.threads_per_rank(count);
  }

  // By fast links: those of a node, or of a rack where a switch joins them.
  bool has_rack_switch() const { return known && known->has_rack_switch(); }
  int joined() const { return has_rack_switch() ? known->link_domain : per_node; }
  // As only a rack's switch lets a tensor group do.
  bool crosses_nodes(int tensor) const { return count > per_node && per_node % tensor != 0; }
};

enum class CheckpointingPolicy { WhenNeeded, Always, Never };

// Absent: to be planned.
struct FixedChoices {
  std::optional<int> tensor;
  std::optional<int> pipeline;
  std::optional<int> data;
  std::optional<int> micro_batch_size;
  std::optional<int> virtual_stages;
  std::optional<int> segments;
  std::optional<bool> sequence_parallel;
  std::optional<ScheduleKind> schedule;
  std::vector<int> layers_per_stage;
  CheckpointingPolicy checkpointing = CheckpointingPolicy::WhenNeeded;
  int zero_stage = 1;

  bool all_sizes() const { return tensor && pipeline && data; }
  // The third follows from two.
  bool leaves_no_size_open() const {
    return tensor.has_value() + pipeline.has_value() + data.has_value() >= 2;
  }
};

struct PlanRequest {
  ModelShape shape;
  TrainingNumbers training;
  DevicePool devices;
  FixedChoices fixed;
  bool writes_checkpoints = false;
  bool keeps_copies_together = false;  // the nodes of each copy of the model, by scheduling.topology
  // One use of memory takes more than is predicted, as a rank has shown.
  std::optional<v1alpha1::MemoryCorrection> correction = {};
  // The devices have more memory, but a layout that needed little more than this has run out of it.
  bool must_need_less = false;
};

// Bytes and operations are counted with 64 bits: whether those of a request can be.
Status check_counts(const PlanRequest& request);

Result<PlanRequest> read_request(const v1alpha1::JobSpec& spec, const DeviceFacts& facts);

}  // namespace caravan::planner
