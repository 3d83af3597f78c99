#include "cli/cluster/step_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "common/utf8.h"

namespace caravan::cli {
namespace {

// Dots of a cell: two wide and four high in Braille, one in ASCII.
struct Cell {
  int wide = 2;
  int high = 4;
};

// What follows the label; nothing when the line does not have it.
std::optional<std::string_view> text_behind(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at + label.size()));
}

// Of "40/100".
std::optional<int> step_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  int step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, step);
  const bool is_whole = error == std::errc{} && end == text.data() + slash;
  return is_whole && step >= 0 ? std::optional(step) : std::nullopt;
}

// A job chooses how long its words are.
std::string first_word(std::string_view text) {
  constexpr std::size_t kLongestWord = 24;
  return readable_line(text.substr(0, text.find(' ')), kLongestWord);
}

// Unicode's order of the dots: down the left column but for its last, down the right, then the last ones.
std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

unsigned dot_of(int x, int y) {
  constexpr unsigned kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  return kDots[y][x];
}

struct Range {
  double low = 0;
  double high = 0;
};

// With a little air, and never of no height.
Range range_of(const std::vector<CurvePoint>& points, std::optional<double> level) {
  const auto [low, high] = std::ranges::minmax(points, {}, &CurvePoint::value);
  Range range{std::min(low.value, level.value_or(low.value)),
              std::max(high.value, level.value_or(high.value))};
  const double air = std::max((range.high - range.low) * 0.05, std::abs(range.high) * 1e-3 + 1e-9);
  return {range.low - air, range.high + air};
}

// Which of so many dots in a row, of which the first is `from`, stands for that.
int dot_for(double value, double from, double to, int dots) {
  const double share = std::clamp((value - from) / (to - from), 0.0, 1.0);
  return static_cast<int>(std::lround(share * (dots - 1)));
}

// One for each line; most are empty.
std::vector<std::string> labels_of(const Range& range, int lines, const std::string& unit) {
  std::vector<std::string> labels(lines);
  for (int line = 0; line < lines; ++line) {
    const double value = range.high - (range.high - range.low) * line / (lines - 1);
    if (line % 5 == 0 || line == lines - 1) labels[line] = fmt::format("{:.4g}{}", value, unit);
  }
  return labels;
}

class Canvas {
 public:
  Canvas(int columns, int lines, Cell cell)
      : columns_(columns), lines_(lines), cell_(cell), cells_(static_cast<std::size_t>(columns * lines)) {}

  int wide() const { return columns_ * cell_.wide; }
  int high() const { return lines_ * cell_.high; }

  // From the left and from above.
  void dot(int x, int y) {
    if (x < 0 || y < 0 || x >= wide() || y >= high()) return;
    const int at = y / cell_.high * columns_ + x / cell_.wide;
    cells_[static_cast<std::size_t>(at)] |= dot_of(x % cell_.wide, y % cell_.high);
  }

  void line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
  }

  std::string text(int line) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const unsigned dots = cells_[static_cast<std::size_t>(line) * columns_ + column];
      text += dots == 0 ? " " : cell_.wide == 1 ? "*" : braille(dots);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

 private:
  int columns_;
  int lines_;
  Cell cell_;
  std::vector<unsigned> cells_;
};

void draw(const std::vector<CurvePoint>& points, const Range& range, std::optional<double> level,
          Canvas& canvas) {
  const double first = points.front().step;
  const double last = std::max<double>(points.back().step, first + 1);
  const auto x_of = [&](int step) { return dot_for(step, first, last, canvas.wide()); };
  const auto y_of = [&](double value) { return dot_for(value, range.high, range.low, canvas.high()); };
  if (level) {
    for (int x = 0; x < canvas.wide(); x += 4) canvas.dot(x, y_of(*level));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CurvePoint& from = points[i == 0 ? 0 : i - 1];
    canvas.line(x_of(from.step), y_of(from.value), x_of(points[i].step), y_of(points[i].value));
  }
}

}  // namespace

std::optional<double> drawable(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && std::abs(value) <= kMostDrawn ? std::optional(value) : std::nullopt;
}

Result<std::optional<CurvePoint>> point_of(std::string_view line, Figure figure) {
  const std::size_t at = line.find(": step ");
  const std::string_view body = at == std::string_view::npos ? line : line.substr(at + 2);
  if (!body.starts_with("step ")) return std::nullopt;
  const std::string_view name = figure == Figure::kLoss ? "loss" : "mfu";
  const auto step_text = text_behind(body, "step ");
  const auto value_text = text_behind(body, fmt::format("  {} ", name));
  if (!value_text) return std::nullopt;
  const auto step = step_of(*step_text);
  const auto value = drawable(*value_text);
  if (step && value) return CurvePoint{.step = *step, .value = *value};
  return failure(fmt::format("step {} with {} {}", first_word(*step_text), name, first_word(*value_text)));
}

void Curve::add(const Result<std::optional<CurvePoint>>& told) {
  if (told && *told) points.push_back(**told);
  if (!told && ++left_out == 1) first_left_out = told.error().message;
}

std::vector<CurvePoint> by_step(const std::vector<CurvePoint>& points) {
  std::map<int, double> values;
  for (const CurvePoint& point : points) values[point.step] = point.value;
  std::vector<CurvePoint> ordered;
  ordered.reserve(values.size());
  for (const auto& [step, value] : values) ordered.push_back({step, value});
  return ordered;
}

std::string draw_curve(const std::vector<CurvePoint>& points, const CurveLook& look) {
  const int lines = std::max(look.height, 3);
  const Range range = range_of(points, look.level);
  const std::vector<std::string> labels = labels_of(range, lines, look.unit);
  const std::size_t label_width =
      std::max<std::size_t>(9, std::ranges::max(labels, {}, &std::string::size).size());
  const int axis = static_cast<int>(label_width) + 2;
  const int columns = std::max(look.width - axis, 10);
  Canvas canvas(columns, lines, look.ascii ? Cell{1, 1} : Cell{2, 4});
  draw(points, range, look.level, canvas);
  std::string text;
  for (int line = 0; line < lines; ++line)
    text +=
        fmt::format("{:>{}} {}{}\n", labels[line], label_width, look.ascii ? "|" : "│", canvas.text(line));
  const std::string first = fmt::format("step {}", points.front().step);
  const std::string last = std::to_string(points.back().step);
  const int gap = std::max(1, columns - static_cast<int>(first.size() + last.size()));
  return text + fmt::format("{:{}}{}{:{}}{}\n", "", axis, first, "", gap, last);
}

}  // namespace caravan::cli
