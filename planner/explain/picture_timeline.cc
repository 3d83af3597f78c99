#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "planner/explain/picture_parts.h"

namespace caravan::planner {
namespace {

struct Look {
  std::string_view name;
  std::array<std::string_view, 2> colours;  // of a stage's even and odd chunks
  std::string_view of_number = "#24292f";
};

constexpr Look kForward = {"forward", {"#4e79a7", "#9fbad6"}, "#ffffff"};
constexpr Look kBackward = {"backward", {"#f28e2b", "#f9c48c"}};
constexpr Look kWeights = {"gradients of weights", {"#59a14f", "#a5cf9f"}};
constexpr std::string_view kIdle = "#eaeef2";
constexpr double kDigitWidth = 6.5;
constexpr double kNumberHeight = 14;

const Look& look_of(OpType type) {
  switch (type) {
    case OpType::Forward:
      return kForward;
    case OpType::BackwardWeight:
      return kWeights;
    default:
      return kBackward;
  }
}

double end_of(const Timeline& timeline) {
  double end = timeline.end;
  for (const auto& stage : timeline.ops) end = std::max(end, stage.back().end);
  return end;
}

void draw_numbers(Svg& svg, const std::vector<TimedOp>& ops, double scale, double y, double height) {
  if (height < kNumberHeight) return;
  for (const TimedOp& timed : ops) {
    const std::string number = fmt::format("{}", timed.op.micro_batch);
    if ((timed.end - timed.start) * scale < kDigitWidth * static_cast<double>(number.size() + 1)) continue;
    svg.text(Frame::kLeft + (timed.start + timed.end) / 2 * scale, y + height / 2 + 3.5, number,
             {.size = 10, .anchor = Anchor::Middle, .colour = look_of(timed.op.type).of_number});
  }
}

// A hair between ops keeps them apart where they follow each other at once.
void draw_stage(Svg& svg, const std::vector<TimedOp>& ops, double scale, double y, double height) {
  svg.rectangle(Frame::kLeft, y, Frame::kBars, height, kIdle);
  std::map<std::string_view, std::string> commands;  // by colour
  for (const TimedOp& timed : ops) {
    const double width = (timed.end - timed.start) * scale;
    commands[look_of(timed.op.type).colours[timed.op.chunk % 2]] +=
        rectangle_path(Frame::kLeft + timed.start * scale, y, width - std::min(1.0, width / 6), height);
  }
  for (const auto& [colour, shapes] : commands) svg.path(shapes, colour);
  draw_numbers(svg, ops, scale, y, height);
}

bool has_any(const Timeline& timeline, auto is_wanted) {
  return std::ranges::any_of(timeline.ops.front(), [&](const TimedOp& timed) { return is_wanted(timed.op); });
}

std::vector<LegendEntry> legend_of(const Timeline& timeline) {
  std::vector<LegendEntry> entries = {{kForward.colours[0], kForward.name},
                                      {kBackward.colours[0], kBackward.name}};
  if (has_any(timeline, [](const Op& op) { return op.type == OpType::BackwardWeight; }))
    entries.push_back({kWeights.colours[0], kWeights.name});
  entries.push_back({kIdle, "idle"});
  if (has_any(timeline, [](const Op& op) { return op.chunk > 0; }))
    entries.push_back({kForward.colours[1], "lighter: every second chunk"});
  return entries;
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
  draw_legend(svg, top, legend_of(timeline));
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
