#include "planner/explain/schedule_picture.h"

#include <algorithm>

#include "planner/explain/picture_parts.h"

namespace caravan::planner {

std::string draw_schedule(const std::string& title, const std::string& subtitle,
                          const std::vector<std::vector<TimedOp>>& ops) {
  Svg svg;
  svg.text(20, 32, title, {.size = 18, .bold = true});
  svg.text(20, 54, subtitle, {.size = 12, .colour = kQuietColour});
  const double end = draw_timeline(svg, {.ops = ops, .in_seconds = false}, 80);
  return svg.document(Frame::kWidth, end + 12, title);
}

std::string draw_comparison(const std::string& title, const std::vector<CaptionedTimeline>& timelines) {
  double end = 0;
  for (const CaptionedTimeline& timeline : timelines) {
    for (const auto& stage : timeline.ops) end = std::max(end, stage.back().end);
  }
  Svg svg;
  svg.text(20, 32, title, {.size = 18, .bold = true});
  double y = 60;
  for (const CaptionedTimeline& timeline : timelines) {
    svg.text(20, y, timeline.caption, {.size = 12, .colour = kQuietColour});
    y = draw_timeline(svg, {.ops = timeline.ops, .end = end}, y + 26) + 24;
  }
  return svg.document(Frame::kWidth, y, title);
}

}  // namespace caravan::planner
