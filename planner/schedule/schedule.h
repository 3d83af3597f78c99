// Pipeline schedules as data: for each stage an ordered list of ops. One representation that generators write, the
// validator checks, the simulator times (planner) and the executor runs (trainer).
//
// A generator never knows tensors; the executor never knows which generator made the list. Definitions, memory and
// time rules: docs/design.md, "Pipeline schedules".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::planner {

enum class ScheduleKind { GPipe, OneFOneB };

// "GPipe", "1F1B": the names of the API.
std::string_view schedule_name(ScheduleKind kind);
std::optional<ScheduleKind> schedule_from_name(std::string_view name);

enum class OpType : uint8_t {
  Forward,
  BackwardInput,   // gradient of the stage's input only
  BackwardWeight,  // gradients of the weights, after BackwardInput of the same unit
  Backward,        // both at once
};

struct Op {
  OpType type = OpType::Forward;
  int micro_batch = 0;
  int segment = 0;  // of the sequence; 0 unless a schedule cuts sequences
  int chunk = 0;    // of this stage's layers; 0 unless stages are virtual
  bool operator==(const Op&) const = default;
};

struct Schedule {
  int stages = 1;
  int micro_batches = 1;
  std::vector<std::vector<Op>> ops;  // by stage, in execution order
  bool operator==(const Schedule&) const = default;
};

// 1 ≤ stages, 1 ≤ micro_batches.
Schedule generate_schedule(ScheduleKind kind, int stages, int micro_batches);

}  // namespace caravan::planner
