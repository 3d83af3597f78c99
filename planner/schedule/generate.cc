#include "planner/schedule/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/schedule/arranged_orders.h"
#include "planner/schedule/fixed_orders.h"

namespace caravan::planner {
namespace {

Status check_chunks(const ScheduleSpec& spec) {
  const std::string_view name = schedule_name(spec.kind);
  if (spec.kind == ScheduleKind::Interleaved) {
    if (spec.chunks >= 2) return {};
    return bad_input(fmt::format("{} needs 2 chunks or more on a stage, not {}", name, spec.chunks));
  }
  if (stands_as_a_v(spec.kind)) {
    if (spec.chunks == 2) return {};
    return bad_input(fmt::format("{} has two chunks on each stage, one on the way down and one up, not {}",
                                 name, spec.chunks));
  }
  if (spec.chunks == 1) return {};
  return bad_input(fmt::format("{} has one chunk on each stage, not {}", name, spec.chunks));
}

}  // namespace

Status check_spec(const ScheduleSpec& spec) {
  const std::string_view name = schedule_name(spec.kind);
  if (spec.stages < 1 || spec.micro_batches < 1 || spec.segments < 1)
    return bad_input(fmt::format("{}: stages, micro-batches and segments must be at least 1", name));
  if (auto status = check_chunks(spec); !status) return status;
  if (spec.kind == ScheduleKind::Interleaved && spec.micro_batches % spec.stages != 0) {
    return bad_input(fmt::format("{} needs a multiple of its stages as micro-batches: {} is none of {}", name,
                                 spec.micro_batches, spec.stages));
  }
  if (spec.segments > 1 && !cuts_sequences(spec.kind))
    return bad_input(fmt::format("{} runs whole sequences; only {} and {} cut them", name,
                                 schedule_name(ScheduleKind::Seq1F1B),
                                 schedule_name(ScheduleKind::SeqZeroBubble)));
  if (spec.kind == ScheduleKind::ZeroBubbleAuto && spec.most_in_flight < 1)
    return bad_input(fmt::format("{} must be told how many micro-batches a stage may hold", name));
  return {};
}

std::string caution(const ScheduleSpec& spec) {
  const int enough = 2 * spec.stages - 1;
  if (spec.kind != ScheduleKind::ZeroBubbleH2 || spec.micro_batches >= enough) return "";
  return fmt::format("{} is made for {} micro-batches or more on {} stages; with {} its bubble is longer",
                     schedule_name(spec.kind), enough, spec.stages, spec.micro_batches);
}

Schedule generate_schedule(const ScheduleSpec& spec) {
  return generate_schedule(spec, even_times(std::vector<PhaseTimes>(spec.stages), spec.map(), spec.segments));
}

Schedule generate_schedule(const ScheduleSpec& spec, const OpTimes& times) {
  if (!has_fixed_order(spec.kind)) {
    return arranged_schedule(spec, spec.group_times.empty() ? times : OpTimes{.groups = spec.group_times});
  }
  Schedule schedule{.stages = spec.stages,
                    .micro_batches = spec.micro_batches,
                    .chunks = spec.chunks,
                    .segments = spec.segments,
                    .ops = {}};
  for (int stage = 0; stage < spec.stages; ++stage) schedule.ops.push_back(fixed_stage(spec, stage));
  return schedule;
}

std::vector<Op> generate_stage(const ScheduleSpec& spec, int stage) {
  return has_fixed_order(spec.kind) ? fixed_stage(spec, stage) : generate_schedule(spec).ops[stage];
}

double promised_peak(const ScheduleSpec& spec, int stage) {
  const int parts = spec.chunks * spec.segments;
  const auto at_most = [&](int micro_batches) -> double {
    return std::min(micro_batches, spec.micro_batches);
  };
  const auto units = [&](int count) {
    return static_cast<double>(std::min(count, parts * spec.micro_batches)) / parts;
  };
  switch (spec.kind) {
    case ScheduleKind::ZeroBubbleH1:
    case ScheduleKind::SeqZeroBubble:
      return units(warm_up(spec, stage) + 1 + stage);
    case ScheduleKind::ZeroBubbleH2:
      return units(warm_up(spec, stage) + 1 + 2 * stage);
    case ScheduleKind::ZeroBubbleAuto:
      return at_most(spec.most_in_flight);
    case ScheduleKind::VMin:
      return at_most((spec.stages + 4) / 3);
    case ScheduleKind::VHalf:
      return at_most((spec.stages + 2) / 2);
    case ScheduleKind::VZeroBubble:
      return at_most(spec.stages);
    default:
      return units(warm_up(spec, stage) + 1);
  }
}

}  // namespace caravan::planner
