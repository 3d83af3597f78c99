// What must be done before an op may run. Shared by validator and simulator.
//
// A unit is the work of one group of layers (chunk_map.h) on one segment of one micro-batch.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

int unit_count(const Schedule& schedule);
// Dense number of a unit: 0 .. unit_count - 1.
int unit_of(const Schedule& schedule, int group, int micro_batch, int segment);

// Weight gradients aside, a unit has two results: activations for the group behind, a gradient for the group
// before.
enum class OutputKind : uint8_t { Activation, Gradient };

struct Dependency {
  OutputKind kind = OutputKind::Activation;
  int unit = 0;
  int stage = 0;  // where it is made
};

class Dependencies {
 public:
  void add(Dependency dependency) { items_[count_++] = dependency; }
  const Dependency* begin() const { return items_.data(); }
  const Dependency* end() const { return items_.data() + count_; }

 private:
  std::array<Dependency, 3> items_;
  size_t count_ = 0;
};

// A forward waits for the group before and the segment before (its keys and values); a backward for its own
// forward, the group behind and the segment behind; a weight gradient for the backward of its unit.
Dependencies dependencies_of(const Schedule& schedule, int stage, const Op& op);

// What an op makes, and the stage of the group of layers that takes it, if there is one.
struct Output {
  OutputKind kind = OutputKind::Activation;
  int unit = 0;
  std::optional<int> taken_by = {};
};

// Nothing for gradients of weights, which nobody waits for.
std::optional<Output> output_of(const Schedule& schedule, int stage, const Op& op);

// Of the messages of one kind from a stage to a neighbour; `channel_count` of them.
int channel_of(const Schedule& schedule, int from, int to, OutputKind kind);
int channel_count(const Schedule& schedule);

}  // namespace caravan::planner
