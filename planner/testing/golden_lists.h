// Op lists of the literature, "F0 F1 B0 W0 …", and those that published schedulers produce, as oracles of
// validator and simulator. Letters as in op_text; `B` is fused unless the text has a W.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct ScheduleShape {
  int micro_batches = 1;
  int chunks = 1;
  int segments = 1;
  ChunkOrder order = ChunkOrder::Loop;
};

// One text per stage.
Schedule parse_op_lists(const std::vector<std::string>& stages, const ScheduleShape& shape);

struct GoldenList {
  std::string name;
  ScheduleShape shape;
  std::vector<std::string> stages;
};

std::vector<GoldenList> golden_lists();
GoldenList golden_list(const std::string& name);

}  // namespace caravan::planner
