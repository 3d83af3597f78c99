#include "cli/schedule/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "caravan/v1alpha1/trace.pb.h"
#include "cli/schedule/captions.h"
#include "common/json.h"
#include "planner/mesh.h"
#include "planner/schedule/dependencies.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/trace_category.h"
#include "planner/schedule/validate.h"

namespace caravan::cli {
namespace {

using planner::Op;
using planner::OpType;
using planner::ScheduleSpec;
using planner::TimedOp;
using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;
using v1alpha1::TraceOrigin;

constexpr int64_t kMostRanks = 1 << 20;
constexpr double kLongestMicroseconds = 1e16;  // three centuries
constexpr double kRoundingSeconds = 1e-6;      // of large numbers of microseconds
// By which times of a device may be late, each rank's by another: what its host takes to notice a mark.
constexpr double kNoticeSeconds = 1e-3;

struct Bounded {
  const char* field;
  int value;
  int least;
  int most;
};

Status check_bounds(const std::vector<Bounded>& fields) {
  for (const Bounded& b : fields) {
    if (b.value < b.least || b.value > b.most)
      return bad_input(fmt::format("{} is {}, and not from {} to {}", b.field, b.value, b.least, b.most));
  }
  return {};
}

planner::MeshShape mesh_of(const TraceOrigin& origin) {
  return {.tensor = origin.tensor(), .data = origin.data(), .pipeline = origin.stages()};
}

Status check_sizes(const TraceOrigin& origin) {
  const int most_ranks = static_cast<int>(kMostRanks);
  if (Status bounds = check_bounds({{"otherData.stages", origin.stages(), 1, kMostStages},
                                    {"otherData.microBatches", origin.micro_batches(), 1, kMostMicroBatches},
                                    {"otherData.chunks", origin.chunks(), 1, kMostChunks},
                                    {"otherData.segments", origin.segments(), 1, kMostSegments},
                                    {"otherData.tensor", origin.tensor(), 1, kMostStages},
                                    {"otherData.data", origin.data(), 1, most_ranks}});
      !bounds)
    return bounds;
  if (mesh_of(origin).ranks() <= kMostRanks) return {};
  return bad_input(fmt::format("otherData: tensor x data x stages are {} ranks; {} are the most",
                               mesh_of(origin).ranks(), kMostRanks));
}

Result<ScheduleSpec> spec_of(const TraceOrigin& origin) {
  if (Status sizes = check_sizes(origin); !sizes) return tl::unexpected(sizes.error());
  const auto kind = planner::schedule_from_name(origin.schedule());
  if (!kind) return bad_input("otherData.schedule names no schedule that is known");
  const ScheduleSpec spec{.kind = *kind,
                          .stages = origin.stages(),
                          .micro_batches = origin.micro_batches(),
                          .chunks = origin.chunks(),
                          .segments = origin.segments(),
                          .most_in_flight = origin.micro_batches()};
  if (Status exists = planner::check_spec(spec); !exists) return tl::unexpected(exists.error());
  if (Status drawable = check_drawable(spec); !drawable) return tl::unexpected(drawable.error());
  const bool is_a_v = spec.map().order == planner::ChunkOrder::V;
  if (origin.order() != (is_a_v ? TraceOrigin::V : TraceOrigin::Loop)) {
    return bad_input(fmt::format("otherData.order is not that of {}", planner::schedule_name(spec.kind)));
  }
  return spec;
}

Result<TimedOp> op_of(const TraceEvent& event, OpType type, const ScheduleSpec& spec) {
  const v1alpha1::TraceArguments& args = event.args();
  if (!args.has_micro_batch() || !args.has_segment() || !args.has_chunk())
    return bad_input("args.microBatch, segment and chunk must be there");
  if (Status bounds = check_bounds({{"args.microBatch", args.micro_batch(), 0, spec.micro_batches - 1},
                                    {"args.segment", args.segment(), 0, spec.segments - 1},
                                    {"args.chunk", args.chunk(), 0, spec.chunks - 1}});
      !bounds)
    return tl::unexpected(bounds.error());
  for (const auto& [field, value] : {std::pair{"ts", event.ts()}, std::pair{"dur", event.dur()}}) {
    if (!(value >= 0 && value <= kLongestMicroseconds))
      return bad_input(fmt::format("{} is {}, which is no time", field, value));
  }
  constexpr double kMicrosecond = 1e-6;
  return TimedOp{.op = {.type = type,
                        .micro_batch = args.micro_batch(),
                        .segment = args.segment(),
                        .chunk = args.chunk()},
                 .start = event.ts() * kMicrosecond,
                 .end = (event.ts() + event.dur()) * kMicrosecond};
}

Result<std::vector<TimedOp>> ops_of(const RankTrace& trace, const ScheduleSpec& spec) {
  constexpr int64_t kOpsOfAUnit = 3;
  const int64_t most = kOpsOfAUnit * spec.micro_batches * spec.chunks * spec.segments;
  std::vector<TimedOp> ops;
  for (int i = 0; i < trace.trace_events_size(); ++i) {
    const TraceEvent& event = trace.trace_events(i);
    const std::optional<OpType> type = planner::op_type_of(event.cat());
    if (!type) continue;
    const auto op = op_of(event, *type, spec);
    if (!op) return bad_input(fmt::format("traceEvents[{}]: {}", i, op.error().message));
    if (!ops.empty() && op->start < ops.back().end - kRoundingSeconds)
      return bad_input(fmt::format("traceEvents[{}]: it begins before the op before it has ended", i));
    if (static_cast<int64_t>(ops.size()) == most)
      return bad_input(fmt::format("there are more than {} ops in it, all that the schedule has", most));
    ops.push_back(*op);
  }
  if (ops.empty()) return bad_input("there are no ops in it");
  return ops;
}

class Reader {
 public:
  Reader(const std::string& folder, const ReadFile& read) : folder_(folder), read_(read) {}

  Result<ExecutedSchedule> run() {
    if (Status first = add_stage(0); !first) return tl::unexpected(first.error());
    for (int stage = 1; stage < executed_.spec.stages; ++stage) {
      if (Status added = add_stage(stage); !added) return tl::unexpected(added.error());
    }
    if (Status valid = check_schedule(); !valid) return tl::unexpected(valid.error());
    if (Status causal = check_causes(); !causal) return tl::unexpected(causal.error());
    if (Status moved = begin_at_zero(); !moved) return tl::unexpected(moved.error());
    return std::move(executed_);
  }

 private:
  // Of the first rank along the other axes.
  int rank_of(int stage) const { return planner::rank_at({.pipeline = stage}, mesh_of(origin_)); }
  std::string path_of(int stage) const { return fmt::format("{}/rank-{}.json", folder_, rank_of(stage)); }
  tl::unexpected<Error> wrong(int stage, const std::string& what) const {
    return bad_input(fmt::format("{}: {}", path_of(stage), what));
  }

  Status add_stage(int stage) {
    const auto trace = read_trace(path_of(stage), read_);
    if (!trace) return tl::unexpected(trace.error());
    if (stage == 0) {
      if (Status taken = take_origin(trace->other_data()); !taken) return wrong(0, taken.error().message);
    }
    if (Status fits = check_origin(trace->other_data(), stage); !fits) return fits;
    auto ops = ops_of(*trace, executed_.spec);
    if (!ops) return wrong(stage, ops.error().message);
    executed_.schedule.ops.emplace_back();
    for (const TimedOp& timed : *ops) executed_.schedule.ops.back().push_back(timed.op);
    executed_.ops.push_back(std::move(*ops));
    return {};
  }

  Status take_origin(const TraceOrigin& origin) {
    const auto spec = spec_of(origin);
    if (!spec) return tl::unexpected(spec.error());
    origin_ = origin;
    executed_.spec = *spec;
    executed_.step = origin.step();
    executed_.schedule = {.stages = spec->stages,
                          .micro_batches = spec->micro_batches,
                          .chunks = spec->chunks,
                          .segments = spec->segments,
                          .order = spec->map().order,
                          .ops = {}};
    return {};
  }

  Status check_origin(const TraceOrigin& origin, int stage) const {
    if (origin.rank() != rank_of(stage) || origin.tensor_rank() != 0 || origin.data_rank() != 0 ||
        origin.stage() != stage) {
      return wrong(stage, fmt::format("otherData: rank, tensorRank, dataRank and stage must be {}, 0, 0 and "
                                      "{}; they are {}, {}, {} and {}",
                                      rank_of(stage), stage, origin.rank(), origin.tensor_rank(),
                                      origin.data_rank(), origin.stage()));
    }
    const std::string expected = to_json(without_place(origin_));
    const std::string actual = to_json(without_place(origin));
    if (actual == expected) return {};
    return wrong(stage, fmt::format("another run or step wrote it than {}: {} is not {}", path_of(0), actual,
                                    expected));
  }

  Status check_schedule() const {
    const Status valid = planner::validate_schedule(executed_.schedule);
    if (valid) return {};
    const int last = executed_.spec.stages - 1;
    return bad_input(fmt::format("{}{}: the ops are no {}: {}", path_of(0),
                                 last > 0 ? fmt::format(" to {}, stages 0 to {}", path_of(last), last) : "",
                                 title_of(executed_.spec), valid.error().message));
  }

  // Assumes a valid schedule.
  Status check_causes() const {
    const planner::Schedule& schedule = executed_.schedule;
    const std::vector<double> never(planner::unit_count(schedule));
    std::array<std::vector<double>, 2> made{never, never};  // by OutputKind
    for (int stage = 0; stage < schedule.stages; ++stage) {
      for (const TimedOp& timed : executed_.ops[stage]) {
        if (const auto output = planner::output_of(schedule, stage, timed.op))
          made[static_cast<size_t>(output->kind)][output->unit] = timed.end;
      }
    }
    for (int stage = 0; stage < schedule.stages; ++stage) {
      for (const TimedOp& timed : executed_.ops[stage]) {
        for (const planner::Dependency& needed : planner::dependencies_of(schedule, stage, timed.op)) {
          const double early = made[static_cast<size_t>(needed.kind)][needed.unit] - timed.start;
          if (early > kNoticeSeconds) return too_early(stage, timed.op, needed.stage, early);
        }
      }
    }
    return {};
  }

  tl::unexpected<Error> too_early(int stage, const Op& op, int maker, double seconds) const {
    return wrong(stage,
                 fmt::format("{} begins {:.4g} s before what it needs was made, as {} has it: they are "
                             "of different runs, or of machines whose clocks differ",
                             planner::op_text(op, executed_.schedule), seconds, path_of(maker)));
  }

  Status begin_at_zero() {
    double first = executed_.ops.front().front().start;
    double work = 0;
    for (const auto& ops : executed_.ops) first = std::min(first, ops.front().start);
    for (auto& ops : executed_.ops) {
      for (TimedOp& timed : ops) {
        timed.start -= first;
        timed.end -= first;
        work += timed.end - timed.start;
      }
    }
    if (work > kRoundingSeconds) return {};
    return wrong(0, "its ops, and those of the other stages, take no time");
  }

  const std::string& folder_;
  const ReadFile& read_;
  TraceOrigin origin_;
  ExecutedSchedule executed_;
};

}  // namespace

Result<ExecutedSchedule> read_traces(const std::string& folder, const ReadFile& read) {
  return Reader(folder, read).run();
}

}  // namespace caravan::cli
