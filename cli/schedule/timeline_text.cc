#include "cli/schedule/timeline_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caravan::cli {
namespace {

using planner::OpType;
using planner::TimedOp;

constexpr std::string_view kIdle = ".";

// Black on blue, yellow or green; an odd chunk's are the bright ones.
int background_of(const planner::Op& op) {
  constexpr int kBright = 60;
  const int shade = op.chunk % 2 == 1 ? kBright : 0;
  switch (op.type) {
    case OpType::Forward:
      return 44 + shade;
    case OpType::BackwardWeight:
      return 42 + shade;
    default:
      return 43 + shade;
  }
}

class Row {
 public:
  Row(const planner::Schedule& schedule, double columns_per_unit, bool colour)
      : schedule_(schedule), columns_per_unit_(columns_per_unit), colour_(colour) {}

  void add(const TimedOp& timed) {
    idle_until(column(timed.start));
    const int width = column(timed.end) - at_;
    if (width <= 0) return;
    std::string name = planner::op_text(timed.op, schedule_);
    if (static_cast<int>(name.size()) > width) name.resize(1);
    name.resize(static_cast<size_t>(width), colour_ ? ' ' : '-');
    text_ += colour_ ? fmt::format("\x1b[30;{}m{}\x1b[0m", background_of(timed.op), name) : name;
    at_ += width;
  }

  void idle_until(int column) {
    for (; at_ < column; ++at_) text_ += kIdle;
  }

  std::string take() { return std::move(text_); }

 private:
  int column(double time) const { return static_cast<int>(std::lround(time * columns_per_unit_)); }

  const planner::Schedule& schedule_;
  const double columns_per_unit_;
  const bool colour_;
  std::string text_;
  int at_ = 0;
};

}  // namespace

std::string timeline_text(const planner::Schedule& schedule, const std::vector<std::vector<TimedOp>>& ops,
                          const TimelineStyle& style) {
  double end = style.end;
  for (const auto& stage : ops) end = std::max(end, stage.back().end);
  const std::string last_label = fmt::format("stage {} ", ops.size() - 1);
  const int columns = std::max(1, style.width - static_cast<int>(last_label.size()));
  std::string text;
  for (size_t stage = 0; stage < ops.size(); ++stage) {
    Row row(schedule, columns / end, style.colour);
    for (const TimedOp& timed : ops[stage]) row.add(timed);
    row.idle_until(columns);
    text += fmt::format("{:<{}}{}\n", fmt::format("stage {}", stage), last_label.size(), row.take());
  }
  return text;
}

}  // namespace caravan::cli
