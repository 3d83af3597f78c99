#include "cli/schedule/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/schedule/captions.h"
#include "common/json.h"
#include "common/readable_percent.h"
#include "planner/explain/schedule_picture.h"

namespace caravan::cli {
namespace {

using planner::TimedOp;

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.4g} ms", 1000 * seconds) : fmt::format("{:.4g} s", seconds);
}

std::string heading_of(const Comparison& comparison) {
  return fmt::format("{}; step {}", title_of(comparison.spec), comparison.step);
}

std::string caption_of(const char* what, const planner::Simulation& performance) {
  return fmt::format("{}: {}, bubble {} ({})", what, seconds_text(performance.makespan),
                     seconds_text(performance.bubble),
                     readable_percent(performance.bubble / performance.makespan));
}

std::string executed_caption(const Comparison& comparison) {
  return caption_of("executed", comparison.executed.performance);
}

std::string simulated_caption(const Comparison& comparison) {
  return caption_of("simulated with the mean times of the ops", comparison.simulated.performance);
}

std::string difference_of(const Comparison& comparison) {
  const double longer = comparison.longer_bubble();
  return fmt::format("the executed bubble is {} {}, {} of the simulated time", seconds_text(std::abs(longer)),
                     longer < 0 ? "shorter" : "longer",
                     readable_percent(std::abs(longer) / comparison.simulated.performance.makespan));
}

std::string json_of(const Timeline& timeline, const planner::Schedule& schedule) {
  std::vector<std::string> stages;
  for (const std::vector<TimedOp>& ops : timeline.ops) {
    std::vector<std::string> texts;
    texts.reserve(ops.size());
    for (const TimedOp& timed : ops) {
      texts.push_back(fmt::format(R"({{"op":{},"start":{},"end":{}}})",
                                  json_string(planner::op_text(timed.op, schedule)), json_number(timed.start),
                                  json_number(timed.end)));
    }
    stages.push_back(fmt::format("[{}]", fmt::join(texts, ",")));
  }
  std::vector<std::string> peaks;
  for (const double peak : timeline.performance.peaks) peaks.push_back(json_number(peak));
  return fmt::format(R"({{"stages":[{}],"makespan":{},"bubble":{},"spanBubble":{},"peaks":[{}]}})",
                     fmt::join(stages, ","), json_number(timeline.performance.makespan),
                     json_number(timeline.performance.bubble), json_number(timeline.performance.span_bubble),
                     fmt::join(peaks, ","));
}

}  // namespace

Comparison compare(ExecutedSchedule executed) {
  const planner::OpTimes times = mean_times(executed);
  Comparison comparison{.spec = executed.spec,
                        .schedule = executed.schedule,
                        .step = executed.step,
                        .executed = {.ops = {}, .performance = performance_of(executed)},
                        .simulated = {.ops = planner::time_ops(executed.schedule, times),
                                      .performance = planner::simulate(executed.schedule, times)}};
  comparison.executed.ops = std::move(executed.ops);
  return comparison;
}

std::string comparison_text(const Comparison& comparison, TimelineStyle style) {
  style.end = std::max(comparison.executed.performance.makespan, comparison.simulated.performance.makespan);
  return fmt::format("{}\n\n{}\n{}\n{}\n{}\n{}\n{}\n", heading_of(comparison), executed_caption(comparison),
                     timeline_text(comparison.schedule, comparison.executed.ops, style),
                     simulated_caption(comparison),
                     timeline_text(comparison.schedule, comparison.simulated.ops, style),
                     difference_of(comparison), legend_of(comparison.spec));
}

std::string comparison_picture(const Comparison& comparison) {
  return planner::draw_comparison(
      heading_of(comparison), {{.caption = executed_caption(comparison), .ops = comparison.executed.ops},
                               {.caption = simulated_caption(comparison) + "; " + difference_of(comparison),
                                .ops = comparison.simulated.ops}});
}

std::string comparison_json(const Comparison& comparison) {
  return fmt::format(R"({{"schedule":{},"step":{},"executed":{},"simulated":{},"longerBubble":{}}})",
                     json_string(planner::schedule_name(comparison.spec.kind)), comparison.step,
                     json_of(comparison.executed, comparison.schedule),
                     json_of(comparison.simulated, comparison.schedule),
                     json_number(comparison.longer_bubble()));
}

}  // namespace caravan::cli
