#include <fmt/format.h>

#include <algorithm>

#include "planner/explain/picture_parts.h"

namespace caravan::planner {
namespace {

constexpr std::string_view kForward = "#4e79a7";
constexpr std::string_view kBackward = "#f28e2b";
constexpr std::string_view kIdle = "#eaeef2";
constexpr double kNumberWidth = 16;   // an op that wide has room for its micro-batch
constexpr double kNumberHeight = 14;  // and that high

double end_of(const Timeline& timeline) {
  double end = 0;
  for (const auto& stage : timeline.ops) end = std::max(end, stage.back().end);
  return end;
}

void draw_numbers(Svg& svg, const std::vector<TimedOp>& ops, double scale, double y, double height) {
  if (height < kNumberHeight) return;
  for (const TimedOp& timed : ops) {
    if ((timed.end - timed.start) * scale < kNumberWidth) continue;
    svg.text(Frame::kLeft + (timed.start + timed.end) / 2 * scale, y + height / 2 + 3.5,
             fmt::format("{}", timed.op.micro_batch),
             {.size = 10,
              .anchor = Anchor::Middle,
              .colour = timed.op.type == OpType::Forward ? "#ffffff" : "#24292f"});
  }
}

// A hair between ops keeps them apart where they follow each other at once.
void draw_stage(Svg& svg, const std::vector<TimedOp>& ops, double scale, double y, double height) {
  svg.rectangle(Frame::kLeft, y, Frame::kBars, height, kIdle);
  std::string forward;
  std::string backward;
  for (const TimedOp& timed : ops) {
    const double width = (timed.end - timed.start) * scale;
    std::string& commands = timed.op.type == OpType::Forward ? forward : backward;
    commands +=
        rectangle_path(Frame::kLeft + timed.start * scale, y, width - std::min(1.0, width / 6), height);
  }
  svg.path(forward, kForward);
  svg.path(backward, kBackward);
  draw_numbers(svg, ops, scale, y, height);
}

std::string seconds_text(double seconds, double distance) {
  if (seconds == 0) return "0";
  return distance < 0.1 ? fmt::format("{:.4g} ms", 1000 * seconds) : fmt::format("{:.4g} s", seconds);
}

void draw_time_axis(Svg& svg, double end, double scale, double y) {
  const double distance = tick_distance(end, 8);
  for (int i = 0; i * distance <= end; ++i) {
    const double x = Frame::kLeft + i * distance * scale;
    svg.line(x, y, x, y + 4, kQuietColour);
    svg.text(x, y + 16, seconds_text(i * distance, distance),
             {.size = 11, .anchor = Anchor::Middle, .colour = kQuietColour});
  }
}

}  // namespace

double draw_timeline(Svg& svg, const Timeline& timeline, double top) {
  draw_legend(svg, top, {{kForward, "forward"}, {kBackward, "backward"}, {kIdle, "idle"}});
  const int stages = static_cast<int>(timeline.ops.size());
  const double height = row_height(stages);
  const double end = end_of(timeline);
  const double scale = Frame::kBars / end;
  double y = top + 16;
  for (int stage = 0; stage < stages; ++stage, y += height + 2) {
    draw_stage(svg, timeline.ops[stage], scale, y, height);
    if (stage % label_stride(stages) == 0)
      svg.text(Frame::kLeft - 8, y + height / 2 + 4, fmt::format("stage {}", stage),
               {.size = 11, .anchor = Anchor::End});
  }
  if (timeline.in_seconds) draw_time_axis(svg, end, scale, y + 2);
  return y + 24;
}

}  // namespace caravan::planner
