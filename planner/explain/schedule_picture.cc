#include "planner/explain/schedule_picture.h"

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

}  // namespace caravan::planner
