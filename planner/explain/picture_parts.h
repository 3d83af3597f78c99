// The parts of a plan's picture. Each draws below `top`, over the picture's width, and says where it ends.
#pragma once

#include <vector>

#include "planner/explain/memory_bars.h"
#include "planner/explain/svg.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {

// Where the rows' bars stand: labels to the left, totals to the right.
struct Frame {
  static constexpr double kWidth = 1000;
  static constexpr double kLeft = 80;
  static constexpr double kRight = 910;
  static constexpr double kBars = kRight - kLeft;
};

inline constexpr std::string_view kQuietColour = "#6e7781";

// Of one stage, so that a long pipeline stays on a screen.
double row_height(int stages);

// Every `n`th row has a label, where all of them would overlap.
int label_stride(int stages);

struct LegendEntry {
  std::string_view colour;
  std::string_view text;
};

void draw_legend(Svg& svg, double y, const std::vector<LegendEntry>& entries);

struct Timeline {
  std::vector<std::vector<TimedOp>> ops;  // by stage
  bool in_seconds = true;                 // else only proportions are known
  double end = 0;                         // of the time that is drawn, where that is later than the last op
};

double draw_timeline(Svg& svg, const Timeline& timeline, double top);

double draw_memory(Svg& svg, const MemoryChart& chart, double top);

}  // namespace caravan::planner
