#include "cli/schedule/captions.h"

#include <fmt/format.h>

namespace caravan::cli {

Status check_drawable(const planner::ScheduleSpec& spec) {
  const int64_t units = int64_t{spec.stages} * spec.micro_batches * spec.chunks * spec.segments;
  if (units <= kMostUnits) return {};
  return bad_input(
      fmt::format("{} stages x micro-batches x chunks x segments are too many to draw; {} are the most",
                  units, kMostUnits));
}

std::string title_of(const planner::ScheduleSpec& spec) {
  std::string title =
      fmt::format("{}: {} stage{}, {} micro-batch{}", planner::schedule_name(spec.kind), spec.stages,
                  spec.stages == 1 ? "" : "s", spec.micro_batches, spec.micro_batches == 1 ? "" : "es");
  if (spec.chunks > 1) title += fmt::format(", {} chunks on each stage", spec.chunks);
  if (spec.segments > 1) title += fmt::format(", {} segments of a sequence", spec.segments);
  return title;
}

std::string legend_of(const planner::ScheduleSpec& spec) {
  return fmt::format("F forward, B backward{}, dots idle; behind it the number of the micro-batch{}{}",
                     planner::splits_backward(spec.kind) ? " of the input, W gradients of the weights" : "",
                     spec.segments > 1 ? ", the segment" : "",
                     spec.chunks > 1 ? ", the letter of the chunk" : "");
}

}  // namespace caravan::cli
