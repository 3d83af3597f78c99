// Who holds up an operation, by what each member of its lane says of itself. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "worker/trainer/comm/nccl/operation_log.h"

namespace caravan::trainer {

// On the board: "7 world-rank 12: all-gather of 64 bytes".
std::string position_text(const LanePosition& position, int world_rank);

struct ToldPosition {
  LanePosition position;
  int world_rank = 0;
};
// Absent where it is no such text.
std::optional<ToldPosition> read_position(std::string_view text);

// Who holds up this operation, in one sentence: "rank 2 of 4 has not come to it: ...". Absent where all have
// come to it. told: by rank of the group, of those that answered.
std::optional<std::string> who_is_missing(const OperationLog::UnderWay& operation,
                                          const std::map<int, ToldPosition>& told);

}  // namespace caravan::trainer
