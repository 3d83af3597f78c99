#include "worker/trainer/comm/nccl/ways.h"

namespace caravan::trainer {

std::string_view way_name(Way way) {
  switch (way) {
    case Way::ActivationsUp:
    case Way::ActivationsDown:
      return "activations";
    case Way::GradientsUp:
    case Way::GradientsDown:
      return "gradients";
  }
  return "";
}

bool goes_up(Way way) {
  return way == Way::ActivationsUp || way == Way::GradientsUp;
}

Way way_of(planner::Direction direction, int from, int to) {
  const bool up = to > from;
  if (direction == planner::Direction::Activations) return up ? Way::ActivationsUp : Way::ActivationsDown;
  return up ? Way::GradientsUp : Way::GradientsDown;
}

Way way_of(int tag, int from, int to) {
  return way_of(tag % 2 == 0 ? planner::Direction::Activations : planner::Direction::Gradients, from, to);
}

// Pairs in three rounds: those that an even rank begins, those that an odd one does, and the last with the
// first. No rank has two contacts in a round, but for the last of an odd number, whose second is in the
// third.
std::vector<int> neighbours_of(int rank, int size) {
  const int before = rank - 1;
  const int behind = rank + 1;
  std::vector<int> neighbours;
  const bool even = rank % 2 == 0;
  for (const int peer : {even ? behind : before, even ? before : behind}) {
    if (peer >= 0 && peer < size) neighbours.push_back(peer);
  }
  const int around = rank == 0 ? size - 1 : 0;
  const bool closes = (rank == 0 || rank == size - 1) && size > 2;
  if (closes) neighbours.push_back(around);
  return neighbours;
}

}  // namespace caravan::trainer
