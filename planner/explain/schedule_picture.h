// A pipeline schedule as a picture: what every stage does when. SVG, without scripts or fonts of its own.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/simulate.h"

namespace caravan::planner {

// ops: of each stage, from time_ops.
std::string draw_schedule(const std::string& title, const std::string& subtitle,
                          const std::vector<std::vector<TimedOp>>& ops);

struct CaptionedTimeline {
  std::string caption;
  std::vector<std::vector<TimedOp>> ops;  // of each stage, in seconds
};

// Below each other, on one scale.
std::string draw_comparison(const std::string& title, const std::vector<CaptionedTimeline>& timelines);

}  // namespace caravan::planner
