// A pipeline's timeline in characters: a row for each stage, time from left to right.
//
// An op is as many columns wide as its part of the time, begins with its name where that has room and with
// the letter of its type where not. Idle time is dotted. Ops that are narrower than a column may vanish.
#pragma once

#include <string>

#include "planner/schedule/simulate.h"

namespace caravan::cli {

struct TimelineStyle {
  int width = 80;  // columns of a row, with its label
  bool colour = false;
  double end = 0;  // of the time that the width stands for; 0: where the last op ends
};

std::string timeline_text(const planner::Schedule& schedule,
                          const std::vector<std::vector<planner::TimedOp>>& ops, const TimelineStyle& style);

}  // namespace caravan::cli
