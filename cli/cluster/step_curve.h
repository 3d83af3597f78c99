// A figure of training over the steps: read from the lines that node 0 logs, drawn for a terminal. Pure.
//
// What a job writes may say anything: points have steps that an int holds and numbers of at most kMostDrawn.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace caravan::cli {

enum class Figure { kLoss, kMfu };  // of MFU in per cent

struct CurvePoint {
  int step = 0;
  double value = 0;

  bool operator==(const CurvePoint&) const = default;
};

// Either way from zero.
inline constexpr double kMostDrawn = 1e100;

// Nothing but for a number, with anything behind it, that can be drawn.
std::optional<double> drawable(std::string_view text);

// Of a line such as "step 40/100  loss 2.31  ...  mfu 41.7 % (predicted 43.0)"; nothing for any other. An
// error says what of a step's line cannot be drawn.
Result<std::optional<CurvePoint>> point_of(std::string_view line, Figure figure);

// In the order of the steps; of a step that was done again the last one counts.
std::vector<CurvePoint> by_step(const std::vector<CurvePoint>& points);

// What is told of a figure, and how much of it cannot be drawn.
struct Curve {
  std::string source = {};  // who tells, for people: "the log of job tiny"
  std::vector<CurvePoint> points = {};
  int left_out = 0;  // steps that say what cannot be drawn
  std::string first_left_out = {};

  void add(const Result<std::optional<CurvePoint>>& told);
};

struct CurveLook {
  int width = 80;   // columns, with the axis
  int height = 16;  // lines, without the axis
  bool ascii = false;
  std::string unit = {};
  std::optional<double> level = {};  // a dotted line: what was predicted, and drawable
};

// points: of point_of(), by step, not empty.
std::string draw_curve(const std::vector<CurvePoint>& points, const CurveLook& look);

}  // namespace caravan::cli
