#include "planner/schedule/list_scheduler.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace caravan::planner {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

struct Stage {
  // By chunk, the next micro-batch of each type.
  std::vector<int> forwards, backwards, weights;
  int held = 0;  // chunks whose activations are kept
  double free_at = 0;
};

struct Choice {
  Op op;
  int64_t cell = std::numeric_limits<int64_t>::max();
};

class Play {
 public:
  Play(const ChunkMap& map, int micro_batches, const OpTimes& times, const BuildingBlock& block,
       int most_chunks_held)
      : map_(map),
        micro_batches_(micro_batches),
        times_(times),
        cells_(block, map),
        weights_make_room_(block.weights_make_room),
        most_held_(most_chunks_held),
        most_room_kept_(block.most_room_kept),
        activations_(static_cast<size_t>(map.groups()) * micro_batches, kNotYet),
        gradients_(activations_),
        schedule_{.stages = map.stages,
                  .micro_batches = micro_batches,
                  .chunks = map.chunks,
                  .order = map.order,
                  .ops = std::vector<std::vector<Op>>(map.stages)} {
    const std::vector<int> none(map.chunks, 0);
    stages_.assign(map.stages, {.forwards = none, .backwards = none, .weights = none});
  }

  std::optional<Arrangement> run() {
    for (int stage = 0; stage < map_.stages; ++stage) wakes_.emplace(0, stage);
    while (!wakes_.empty()) {
      const auto [now, stage] = wakes_.top();
      wakes_.pop();
      if (stages_[stage].free_at <= now) act(stage, now);
    }
    const size_t ops = size_t{3} * map_.chunks * micro_batches_;
    if (std::ranges::any_of(schedule_.ops, [&](const auto& list) { return list.size() < ops; }))
      return std::nullopt;
    return Arrangement{.schedule = std::move(schedule_),
                       .makespan = std::ranges::max(stages_, {}, &Stage::free_at).free_at};
  }

 private:
  double& made(std::vector<double>& products, int group, int micro_batch) {
    return products[static_cast<size_t>(group) * micro_batches_ + micro_batch];
  }

  void act(int stage, double now) {
    if (const auto op = choose(stage, now)) start(stage, *op, now);
  }

  std::optional<Op> choose(int stage, double now) {
    Choice best;
    for (int chunk = 0; chunk < map_.chunks; ++chunk) {
      consider_forward(stage, chunk, now, best);
      consider_backward(stage, chunk, now, best);
    }
    consider_weights(stage, best);
    if (best.cell == Choice{}.cell) return std::nullopt;
    return best.op;
  }

  void consider(int stage, const Op& op, Choice& best) const {
    const int64_t cell = cells_.at(stage, op);
    if (cell < best.cell) best = {.op = op, .cell = cell};
  }

  double arrival(std::vector<double>& products, int group, int micro_batch, int stage) {
    if (group < 0 || group == map_.groups()) return 0;
    return made(products, group, micro_batch) + (map_.stage_of(group) == stage ? 0 : times_.transfer);
  }

  void consider_forward(int stage, int chunk, double now, Choice& best) {
    const Op op{.type = OpType::Forward, .micro_batch = stages_[stage].forwards[chunk], .chunk = chunk};
    if (op.micro_batch == micro_batches_) return;
    if (arrival(activations_, map_.group_of(stage, chunk) - 1, op.micro_batch, stage) > now) return;
    if (stages_[stage].held + room_kept(stage, op) < most_held_) consider(stage, op, best);
  }

  void consider_backward(int stage, int chunk, double now, Choice& best) {
    const Stage& state = stages_[stage];
    const Op op{.type = OpType::BackwardInput, .micro_batch = state.backwards[chunk], .chunk = chunk};
    if (op.micro_batch == state.forwards[chunk]) return;
    if (arrival(gradients_, map_.group_of(stage, chunk) + 1, op.micro_batch, stage) <= now)
      consider(stage, op, best);
  }

  void consider_weights(int stage, Choice& best) {
    Stage& state = stages_[stage];
    if (weights_make_room_ && state.held >= most_held_ && state.weights != state.backwards) best = {};
    for (int chunk = 0; chunk < map_.chunks; ++chunk) {
      if (state.weights[chunk] == state.backwards[chunk]) continue;
      consider(stage, {.type = OpType::BackwardWeight, .micro_batch = state.weights[chunk], .chunk = chunk},
               best);
    }
  }

  // Chunks that forwards before it will hold: those of other chunks, not run yet.
  int room_kept(int stage, const Op& op) const {
    const int64_t cell = cells_.at(stage, op);
    int count = 0;
    for (int chunk = 0; chunk < map_.chunks; ++chunk) {
      const int64_t ahead = cell - cells_.at(stage, {.type = OpType::Forward, .chunk = chunk});
      if (chunk == op.chunk || ahead <= 0) continue;
      const auto started = static_cast<int>(
          std::min<int64_t>(micro_batches_, (ahead + cells_.period() - 1) / cells_.period()));
      count += std::max(0, started - stages_[stage].forwards[chunk]);
    }
    return std::min(count, most_room_kept_);
  }

  void start(int stage, const Op& op, double now) {
    Stage& state = stages_[stage];
    state.free_at = now + times_.of(map_, stage, op);
    wakes_.emplace(state.free_at, stage);
    schedule_.ops[stage].push_back(op);
    const int group = map_.group_of(stage, op.chunk);
    switch (op.type) {
      case OpType::Forward:
        ++state.forwards[op.chunk];
        ++state.held;
        return finish(activations_, group, op.micro_batch, group + 1, state.free_at);
      case OpType::BackwardInput:
        ++state.backwards[op.chunk];
        return finish(gradients_, group, op.micro_batch, group - 1, state.free_at);
      default:
        ++state.weights[op.chunk];
        --state.held;
    }
  }

  void finish(std::vector<double>& products, int group, int micro_batch, int reader, double at) {
    made(products, group, micro_batch) = at;
    if (reader >= 0 && reader < map_.groups()) wakes_.emplace(at + times_.transfer, map_.stage_of(reader));
  }

  using Wake = std::pair<double, int>;  // when, and which stage

  const ChunkMap map_;
  const int micro_batches_;
  const OpTimes& times_;
  const Cells cells_;
  const bool weights_make_room_;
  const int most_held_;
  const int most_room_kept_;
  std::vector<double> activations_;  // by group and micro-batch: when they are there
  std::vector<double> gradients_;    // likewise
  std::vector<Stage> stages_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  Schedule schedule_;
};

}  // namespace

std::optional<Arrangement> arrange(const ChunkMap& map, int micro_batches, const OpTimes& times,
                                   const BuildingBlock& block, int most_chunks_held) {
  return Play(map, micro_batches, times, block, most_chunks_held).run();
}

}  // namespace caravan::planner
