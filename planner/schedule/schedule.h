// Pipeline schedules as data: for each stage an ordered list of ops. One representation that generators
// write, the validator checks, the simulator times (planner) and the executor runs (trainer).
//
// A generator never knows tensors; the executor never knows which generator made the list. Definitions,
// memory and time rules: docs/design.md, "Pipeline schedules".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/schedule/chunk_map.h"

namespace caravan::planner {

enum class ScheduleKind {
  GPipe,
  OneFOneB,
  Interleaved,
  ZeroBubbleH1,    // gradients of the weights fill the pipeline's end; as much memory as 1F1B
  ZeroBubbleH2,    // twice that memory; no idling between a stage's first op and its last where W is long
                   // enough
  ZeroBubbleAuto,  // as much memory as is allowed
  VMin,            // two chunks a stage, down the stages and up again: a third of 1F1B's memory,
  VHalf,           // half of it,
  VZeroBubble,     // or as much
  Seq1F1B,         // 1F1B of segments of the sequence
  SeqZeroBubble,   // ZeroBubbleH1 of segments
};

// "GPipe", "1F1B", "Interleaved", "ZBH1", …: the names of the API.
std::string_view schedule_name(ScheduleKind kind);
std::optional<ScheduleKind> schedule_from_name(std::string_view name);
std::vector<ScheduleKind> all_schedule_kinds();

// Two chunks a stage, one on the way down the stages and one on the way up.
bool stands_as_a_v(ScheduleKind kind);
bool cuts_sequences(ScheduleKind kind);
// Gradients of the weights are ops of their own.
bool splits_backward(ScheduleKind kind);
// Holds fewer micro-batches than 1F1B, for a longer bubble than VZB's.
bool spares_memory(ScheduleKind kind);
// Its stages begin a step before the others have ended the one before (post_validation.h).
bool validates_afterwards(ScheduleKind kind);
// Its op lists follow from a stage's place alone, whatever ops take.
bool has_fixed_order(ScheduleKind kind);
// Not of ZeroBubbleAuto, which must be told how much memory there is.
bool may_be_asked_for(ScheduleKind kind);
// Messages of activations, and as many of gradients, that a stage has under way to a neighbour: with so many
// no op waits for the neighbour to ask, as long as forwards and both parts of backwards take about as long.
int messages_under_way(ScheduleKind kind);
inline constexpr int kAnyNumber = std::numeric_limits<int>::max();  // of messages

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

// What ops on one micro-batch take, in any one unit of time.
struct PhaseTimes {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  bool operator==(const PhaseTimes&) const = default;

  double total() const { return forward + backward_input + backward_weight; }
  double of(OpType type) const;
  PhaseTimes& operator+=(const PhaseTimes& other);
  friend PhaseTimes operator*(double times, const PhaseTimes& each);
};

// Which schedule, and of what size.
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::OneFOneB;
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;          // of a stage's layers: 2 where they stand as a V, any number if interleaved
  int segments = 1;        // of a sequence
  int most_in_flight = 0;  // micro-batches that a stage may hold; of ZeroBubbleAuto
  // What op lists without a fixed order are arranged for, by group of layers, whatever their ops take in the
  // end.
  std::vector<PhaseTimes> group_times = {};

  ChunkMap map() const;
};

// With the fewest chunks and segments that make the schedule what it is, and no more micro-batches in flight
// than 1F1B has.
ScheduleSpec smallest_spec(ScheduleKind kind, int stages, int micro_batches);

// "F3.1b": type, micro-batch, segment where sequences are cut, letter of the chunk where stages are virtual.
// A backward of both gradients is "B", as is that of the input alone: the latter has a "W" of its own.
std::string op_text(const Op& op, const Schedule& schedule);

// "the forward of micro-batch 3, chunk 1": for people who do not see the schedule.
std::string op_words(const Op& op);

}  // namespace caravan::planner
