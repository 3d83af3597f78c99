#include "planner/schedule/building_block.h"

namespace caravan::planner {

Cells::Cells(const BuildingBlock& block, const ChunkMap& map)
    : chunks_(map.chunks),
      period_(3 * map.chunks),
      weight_lag_(block.weight_lag),
      forwards_(static_cast<size_t>(map.groups())),
      backwards_(static_cast<size_t>(map.groups())) {
  int64_t next = 0;
  for (int number = 0; number < 2 * map.chunks; ++number) {
    const Pass& pass = block.passes[number];
    const bool forward = number < map.chunks;
    const int chunk = forward ? number : 2 * map.chunks - 1 - number;
    place_pass(map, pass, chunk, forward, next + pass.gap);
    next += pass.gap + int64_t{pass.slope} * (map.stages - 1) + 1;
  }
}

int64_t Cells::at(int stage, const Op& op) const {
  const auto place = static_cast<size_t>(stage) * chunks_ + op.chunk;
  const int64_t start = int64_t{period_} * op.micro_batch;
  if (op.type == OpType::Forward) return start + forwards_[place];
  const int64_t lag = op.type == OpType::BackwardWeight ? weight_lag_ : 0;
  return start + backwards_[place] + lag;
}

void Cells::place_pass(const ChunkMap& map, const Pass& pass, int chunk, bool forward, int64_t first) {
  for (int step = 0; step < map.stages; ++step) {
    const int in_chunk = forward ? step : map.stages - 1 - step;
    const int stage = map.stage_of(chunk * map.stages + in_chunk);
    const auto place = static_cast<size_t>(stage) * chunks_ + chunk;
    (forward ? forwards_ : backwards_)[place] = first + int64_t{pass.slope} * step;
  }
}

}  // namespace caravan::planner
