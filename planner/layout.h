// How one model is spread over devices: the value that search produces, memory and time are predicted for,
// and the trainer executes. devices = tensor · pipeline · data.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct Layout {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  int micro_batch_size = 1;
  bool sequence_parallel = false;
  bool activation_checkpointing = false;  // every transformer layer keeps its input only
  int virtual_stages = 1;
  std::vector<int> layers_per_stage;  // size = pipeline, sum = layers of the model
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  int zero_stage = 1;  // 0 to 3
  bool operator==(const Layout&) const = default;

  int devices() const { return tensor * pipeline * data; }
};

}  // namespace caravan::planner
