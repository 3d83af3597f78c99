// How one model is spread over devices: the value that search produces, memory and time are predicted for,
// and the trainer executes.
#pragma once

#include <vector>

#include "planner/mesh.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct Layout {
  MeshShape mesh;  // one rank a device
  int micro_batch_size = 1;
  bool sequence_parallel = false;
  bool activation_checkpointing = false;  // every transformer layer keeps its input only
  int virtual_stages = 1;
  std::vector<int> layers_per_stage;  // size = pipeline, sum = layers of the model
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  int zero_stage = 1;  // 0 to 3
  bool operator==(const Layout&) const = default;
};

}  // namespace caravan::planner
