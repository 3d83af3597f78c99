// On which lane a message between two stages goes, where lanes keep the order and know no tags.
//
// Activations and gradients have no common order, and where stages stand as a V neither have activations that
// go down the stages and those that come up again. So a pair of neighbours has up to four lanes, each with
// messages of one kind in one direction, whose order is the same on both sides
// (tests/numerics/collective_order_test.cc): those that the schedule uses (used_ways.h). With fewer, stages
// wait for each other for ever: with the one lane that c10d gives a pair even those of 1F1B do, as with one
// exchange of all that a stage sends and receives between two ops, which does not end before all of it has;
// with a lane for each kind those of V-schedules (ways_test.cc plays all). Pure.
#pragma once

#include <compare>
#include <string_view>
#include <vector>

#include "planner/schedule/transfers.h"

namespace caravan::trainer {

enum class Way { ActivationsUp, ActivationsDown, GradientsUp, GradientsDown };  // up: to the higher rank
inline constexpr int kWays = 4;

std::string_view way_name(Way way);
bool goes_up(Way way);

Way way_of(planner::Direction direction, int from, int to);
// Of a message with that tag of the executor (pipeline/executor.h).
Way way_of(int tag, int from, int to);

struct NeighbourWay {
  int peer = 0;
  Way way = Way::ActivationsUp;
  auto operator<=>(const NeighbourWay&) const = default;
};

// The neighbours of a rank in a group along the pipeline, where each sends to the next and the last to the
// first, in the order in which to make the first contact with them: a contact holds up both sides until it is
// made, and all are made in a time that does not depend on the size.
std::vector<int> neighbours_of(int rank, int size);

}  // namespace caravan::trainer
