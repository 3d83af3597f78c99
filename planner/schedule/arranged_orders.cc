#include "planner/schedule/arranged_orders.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "planner/schedule/fixed_orders.h"
#include "planner/schedule/list_scheduler.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {
namespace {

constexpr int kWhenIdle = 1 << 20;  // cells: later than anything else that may be ready

BuildingBlock making_room(std::vector<Pass> passes) {
  return {.passes = std::move(passes), .weight_lag = kWhenIdle, .weights_make_room = true};
}

// Slopes and gaps of the V-schedules were found by trying all small ones: together these reach the bubbles of
// the published tables, or less, for 2 to 16 stages. Those of the automatic one are the best of as many for
// random times of stages.
std::vector<BuildingBlock> blocks_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::VMin:
      return {{.passes = {{1}, {1}, {1, 5}, {1, 1}}, .weight_lag = 5},
              {.passes = {{1}, {1}, {1, 5}, {1, 1}}, .weight_lag = 3}};
    case ScheduleKind::VHalf:
      return {making_room({{1}, {2}, {1, 2}, {2, 3}}), making_room({{1}, {2}, {1, 2}, {1, 4}}),
              making_room({{1}, {1, 1}, {2, 2}, {2, 2}}), making_room({{1}, {1, 1}, {2, 2}, {2, 4}})};
    case ScheduleKind::VZeroBubble:
      return {{.passes = {{2}, {4}, {2}, {1}},
               .weight_lag = kWhenIdle,
               .weights_make_room = true,
               .most_room_kept = 1}};
    case ScheduleKind::ZeroBubbleAuto:
      return {{.passes = {{2}, {2}}, .weight_lag = kWhenIdle},
              {.passes = {{1}, {1}}, .weight_lag = kWhenIdle},
              making_room({{2}, {2}})};
    default:
      return {};
  }
}

class Shortest {
 public:
  void consider(std::optional<Arrangement> arrangement) {
    if (arrangement && (!best_ || arrangement->makespan < best_->makespan)) best_ = std::move(arrangement);
  }

  bool ends() const { return best_ && std::isfinite(best_->makespan); }

  Schedule take() {
    if (!best_) throw std::logic_error("no building block leads to a schedule");
    return std::move(best_->schedule);
  }

 private:
  std::optional<Arrangement> best_;
};

// With as few messages under way as ranks have.
double executed(const Schedule& schedule, ScheduleKind kind, const OpTimes& times) {
  return simulate(schedule, times, messages_under_way(kind)).makespan;
}

// Where it holds no more than that one may.
std::optional<Arrangement> with_fixed_order(ScheduleSpec spec, ScheduleKind kind, const OpTimes& times) {
  const int most = spec.most_in_flight;
  spec.kind = kind;
  if (promised_peak(spec, 0) > most) return std::nullopt;
  Schedule schedule = generate_schedule(spec, times);
  const double end = executed(schedule, spec.kind, times);
  return Arrangement{.schedule = std::move(schedule), .makespan = end};
}

// arranged_for: what ops are taken to take; times: what they do.
void consider_blocks(const ScheduleSpec& spec, const OpTimes& arranged_for, const OpTimes& times,
                     Shortest& shortest) {
  const auto most_held = static_cast<int>(std::lround(promised_peak(spec, 0) * spec.chunks));
  for (const BuildingBlock& block : blocks_of(spec.kind)) {
    auto arrangement = arrange(spec.map(), spec.micro_batches, arranged_for, block, most_held);
    if (!arrangement) continue;
    arrangement->makespan = executed(arrangement->schedule, spec.kind, times);
    shortest.consider(std::move(arrangement));
  }
}

}  // namespace

Schedule arranged_schedule(const ScheduleSpec& spec, const OpTimes& times) {
  Shortest shortest;
  consider_blocks(spec, times, times, shortest);
  // Stages that differ much may come to wait for each other where few messages are under way; lists for
  // stages that are alike never do.
  if (!shortest.ends())
    consider_blocks(spec, even_times(std::vector<PhaseTimes>(spec.stages), spec.map(), spec.segments), times,
                    shortest);
  if (spec.kind == ScheduleKind::ZeroBubbleAuto) {
    shortest.consider(with_fixed_order(spec, ScheduleKind::ZeroBubbleH1, times));
    shortest.consider(with_fixed_order(spec, ScheduleKind::ZeroBubbleH2, times));
  }
  return shortest.take();
}

}  // namespace caravan::planner
