#include "cli/schedule/schedule_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "common/json.h"

namespace caravan::cli {
namespace {

std::string array_of(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

}  // namespace

std::string schedule_json(const planner::Schedule& schedule, const planner::Simulation& simulation) {
  std::vector<std::string> stages;
  for (const auto& ops : schedule.ops) {
    std::vector<std::string> names;
    names.reserve(ops.size());
    for (const planner::Op& op : ops) names.push_back(json_string(planner::op_text(op, schedule)));
    stages.push_back(array_of(names));
  }
  std::vector<std::string> peaks;
  for (const double peak : simulation.peaks) peaks.push_back(json_number(peak));
  return fmt::format(R"({{"stages":{},"makespan":{},"bubble":{},"spanBubble":{},"peaks":{}}})",
                     array_of(stages), json_number(simulation.makespan), json_number(simulation.bubble),
                     json_number(simulation.span_bubble), array_of(peaks));
}

}  // namespace caravan::cli
