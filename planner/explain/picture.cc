#include "planner/explain/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/readable_percent.h"
#include "planner/explain/estimate.h"
#include "planner/explain/figures.h"
#include "planner/explain/picture_parts.h"
#include "planner/explain/summary.h"
#include "planner/report.h"
#include "planner/schedule/generate.h"
#include "planner/search/search.h"

namespace caravan::planner {
namespace {

constexpr int kFewestDrawn = 8;   // micro-batches
constexpr int kMostStages = 256;  // more are neither seen nor drawn soon

// Enough for the pipeline to fill, run and drain; all of them would be too thin to see. Rounds of the
// pipeline stay whole, as interleaved schedules need it.
int drawn_micro_batches(const PlanRequest& request, const Layout& layout) {
  const int64_t all = micro_batches(request.training, layout);
  const int rounds = std::max(2, (kFewestDrawn + layout.mesh.pipeline - 1) / layout.mesh.pipeline);
  return static_cast<int>(std::min<int64_t>(all, int64_t{rounds} * layout.mesh.pipeline));
}

Timeline timeline_of(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const OpTimes times = predict_pipeline_times(request, layout, profile).ops;
  const ScheduleSpec spec = layout.schedule_of(drawn_micro_batches(request, layout));
  return {.ops = time_ops(generate_schedule(spec, times), times),
          .in_seconds = request.devices.known.has_value()};
}

std::string speed_of(const v1alpha1::Plan& plan) {
  if (!plan.has_step_seconds()) return "";
  return fmt::format("{}{} per step, {} tokens/s, MFU {}, pipeline idle {} of a step",
                     readable_seconds(plan.step_seconds()), error_text(plan.step_time_error()),
                     readable_count(plan.tokens_per_second()), readable_percent(plan.mfu()),
                     readable_percent(plan.bubble_fraction()));
}

std::string timeline_title(int drawn, int64_t all) {
  return drawn == all ? fmt::format("What every stage does in a step, {} micro-batches", all)
                      : fmt::format("What every stage does, drawn with {} of {} micro-batches", drawn, all);
}

std::string draw(const PlanRequest& request, const Layout& layout, const EngineProfile& profile,
                 const v1alpha1::Plan& plan) {
  constexpr TextStyle kHeading{.size = 14, .bold = true};
  const std::string title = fmt::format("{}: TP{} PP{} DP{} on {}", request.shape.name, plan.tensor(),
                                        plan.pipeline(), plan.data(), devices_summary(plan));
  Svg svg;
  svg.text(20, 32, title, {.size = 18, .bold = true});
  svg.text(20, 54, speed_of(plan), {.size = 12, .colour = kQuietColour});
  svg.text(20, 90, timeline_title(drawn_micro_batches(request, layout), plan.gradient_accumulation()),
           kHeading);
  const double middle = draw_timeline(svg, timeline_of(request, layout, profile), 104);
  svg.text(20, middle + 24, "Memory of a device of every stage, at its peak", kHeading);
  const double end = draw_memory(svg, memory_chart(plan), middle + 38);
  return svg.document(Frame::kWidth, end + 12, title);
}

}  // namespace

double row_height(int stages) {
  constexpr double kRoom = 400;
  return std::clamp(kRoom / stages - 2, 3.0, 28.0);
}

int label_stride(int stages) {
  constexpr double kLine = 13;
  return static_cast<int>(std::ceil(kLine / (row_height(stages) + 2)));
}

void draw_legend(Svg& svg, double y, const std::vector<LegendEntry>& entries) {
  double x = Frame::kLeft;
  for (const LegendEntry& entry : entries) {
    svg.rectangle(x, y - 4, 12, 12, entry.colour);
    svg.text(x + 17, y + 6, entry.text, {.size = 12});
    x += 40 + 7 * static_cast<double>(entry.text.size());
  }
}

Result<std::string> draw_plan(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                              const EngineProfile& profile) {
  const auto report = plan_job(spec, facts, profile);
  if (!report) return tl::unexpected(report.error());
  const auto request = read_request(spec, facts);
  if (!request) return tl::unexpected(request.error());
  if (report->plan().pipeline() > kMostStages) {
    return bad_input(fmt::format("a pipeline of {} stages is too long to draw; {} are the most",
                                 report->plan().pipeline(), kMostStages));
  }
  return draw(*request, layout_value(report->plan()), profile, report->plan());
}

}  // namespace caravan::planner
