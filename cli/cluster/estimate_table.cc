#include "cli/cluster/estimate_table.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "common/readable_duration.h"
#include "common/readable_integer.h"
#include "planner/explain/estimate.h"
#include "planner/explain/figures.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using planner::Align;
using v1alpha1::Estimate;

constexpr double kFewHours = 100;         // below it tenths count
constexpr std::size_t kToTheMinute = 16;  // characters of a time stamp

std::string step_text(const v1alpha1::Plan& plan) {
  if (!plan.has_step_seconds()) return "";
  return planner::readable_seconds(plan.step_seconds()) + planner::error_text(plan.step_time_error());
}

std::string hours_text(double hours) {
  return hours < kFewHours ? fmt::format("{:.1f}", hours) : readable_integer(std::llround(hours));
}

std::string end_text(const std::string& time_stamp) {
  return time_stamp.empty() ? "" : fmt::format("{}Z", time_stamp.substr(0, kToTheMinute));
}

std::vector<std::string> row_of(const Estimate& estimate) {
  std::vector<std::string> row = {std::to_string(estimate.devices())};
  if (!estimate.fits()) return {row.front(), "", "no"};
  const v1alpha1::Plan& plan = estimate.report().plan();
  row.push_back(plan.device_product());
  row.emplace_back("yes");
  row.push_back(fmt::format("TP{} PP{} DP{}", plan.tensor(), plan.pipeline(), plan.data()));
  row.push_back(step_text(plan));
  row.push_back(estimate.has_training_seconds() ? readable_duration(estimate.training_seconds()) : "");
  row.push_back(estimate.has_device_hours() ? hours_text(estimate.device_hours()) : "");
  row.push_back(end_text(estimate.end_time()));
  row.push_back(estimate.cost());
  return row;
}

}  // namespace

std::string count_text(int devices) {
  return fmt::format("{} device{}", devices, devices == 1 ? "" : "s");
}

std::string estimate_table(const v1alpha1::EstimateJobResponse& response, int width) {
  std::vector<std::vector<std::string>> rows;
  std::string reasons;
  for (const Estimate& estimate : response.estimates()) {
    rows.push_back(row_of(estimate));
    if (estimate.fits()) continue;
    const std::string why = fmt::format("{}: {}", count_text(estimate.devices()), estimate.reason());
    reasons += fmt::format("\n{}", planner::paragraph(why, width));
  }
  return planner::format_table({{.title = "DEVICES", .align = Align::Right},
                                {.title = "PRODUCT", .optional = true},
                                {.title = "FITS"},
                                {.title = "LAYOUT"},
                                {.title = "STEP", .align = Align::Right},
                                {.title = "TRAINING", .align = Align::Right},
                                {.title = "DEVICE-HOURS", .align = Align::Right},
                                {.title = "END"},
                                {.title = "COST", .align = Align::Right}},
                               rows, width) +
         reasons;
}

}  // namespace caravan::cli
