// Pipeline schedules as data: for each stage an ordered list of ops. One representation that generators
// write, the validator checks, the simulator times (planner) and the executor runs (trainer).
//
// A generator never knows tensors; the executor never knows which generator made the list. Definitions,
// memory and time rules: docs/design.md, "Pipeline schedules".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/schedule/chunk_map.h"

namespace caravan::planner {

enum class ScheduleKind { GPipe, OneFOneB, Interleaved };

// "GPipe", "1F1B", "Interleaved": the names of the API.
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
  int chunks = 1;    // layer chunks of a stage
  int segments = 1;  // of a sequence
  ChunkOrder order = ChunkOrder::Loop;
  std::vector<std::vector<Op>> ops;  // by stage, in execution order
  bool operator==(const Schedule&) const = default;

  ChunkMap map() const { return {.stages = stages, .chunks = chunks, .order = order}; }
};

// chunks: of a stage; 1 unless the kind is Interleaved, which also needs micro_batches to be a multiple of
// stages. 1 ≤ stages, 1 ≤ micro_batches.
Schedule generate_schedule(ScheduleKind kind, int stages, int micro_batches, int chunks = 1);

// The ops of one stage of that schedule.
std::vector<Op> generate_stage(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks = 1);

// Micro-batches of activations that a stage of that schedule promises to hold at most; one of a stage's
// chunks counts as its share of the stage.
double promised_peak(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks = 1);

// "F3.1b": type, micro-batch, segment where sequences are cut, letter of the chunk where stages are virtual.
// A backward of both gradients is "B", as is that of the input alone: the latter has a "W" of its own.
std::string op_text(const Op& op, const Schedule& schedule);

}  // namespace caravan::planner
