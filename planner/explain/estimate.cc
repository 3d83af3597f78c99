#include "planner/explain/estimate.h"

#include <fmt/format.h>

#include <cmath>

#include "common/readable_duration.h"
#include "common/readable_integer.h"
#include "common/readable_percent.h"
#include "planner/explain/figures.h"
#include "planner/explain/table.h"

namespace caravan::planner {
namespace {

constexpr double kSecondsOfDay = 86400;

std::string utilisation_text(const v1alpha1::Plan& plan) {
  std::string text = fmt::format("{} (causal {}, HFU {})", readable_percent(plan.mfu()),
                                 readable_percent(plan.mfu_causal()), readable_percent(plan.hfu()));
  if (plan.pipeline() > 1)
    text += fmt::format(", pipeline idle {} of a step", readable_percent(plan.bubble_fraction()));
  return text;
}

std::string whole_run_text(const v1alpha1::Plan& plan, const std::string& error) {
  const double seconds = plan.training_days() * kSecondsOfDay;
  return fmt::format("{}{} for {} steps, {} GPU-hours{}", readable_duration(seconds), error,
                     readable_integer(std::llround(seconds / plan.step_seconds())),
                     readable_integer(std::llround(plan.gpu_hours())), error);
}

}  // namespace

std::string error_text(double fraction) {
  return fraction > 0 ? fmt::format(" ± {}", readable_rough_percent(fraction)) : "";
}

std::string estimate_text(const v1alpha1::Plan& plan) {
  if (!plan.has_step_seconds()) {
    return plan.pipeline() > 1
               ? fmt::format("Pipeline idle {} of a step; no speed is predicted for this device.\n",
                             readable_percent(plan.bubble_fraction()))
               : "";
  }
  const std::string error = error_text(plan.step_time_error());
  std::vector<std::vector<std::string>> rows = {
      {"step", readable_seconds(plan.step_seconds()) + error},
      {"tokens/s", readable_count(plan.tokens_per_second()) + error},
      {"MFU", utilisation_text(plan)}};
  if (plan.has_training_days()) rows.push_back({"whole run", whole_run_text(plan, error)});
  return fmt::format("Predicted speed{}\n{}", plan.has_step_time_error() ? "" : ", not validated",
                     format_table({{}, {}}, rows));
}

}  // namespace caravan::planner
