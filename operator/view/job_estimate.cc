#include "operator/view/job_estimate.h"

#include <fmt/format.h>

#include <chrono>

#include "common/decimal.h"
#include "kube/api/timestamp.h"
#include "planner/engine_profile.h"

namespace caravan::controller {
namespace {

using v1alpha1::Estimate;

constexpr double kSecondsOfDay = 86400;
constexpr double kHighestPrice = 1e6;     // beyond it a cost is no number that anybody reads
constexpr double kLongestForeseen = 1e9;  // seconds; beyond it an end is no time stamp that anybody reads

void add_times(const v1alpha1::Plan& plan, const EstimateWish& wish, Estimate& into) {
  if (plan.has_step_seconds() && plan.has_step_time_error()) {
    into.set_step_seconds_low(plan.step_seconds() * (1 - plan.step_time_error()));
    into.set_step_seconds_high(plan.step_seconds() * (1 + plan.step_time_error()));
  }
  if (plan.has_training_days()) {
    const double seconds = plan.training_days() * kSecondsOfDay;
    into.set_training_seconds(seconds);
    if (seconds < kLongestForeseen)
      into.set_end_time(kube::to_timestamp(wish.now + std::chrono::duration_cast<Clock::WallTime::duration>(
                                                          std::chrono::duration<double>(seconds))));
  }
  if (!plan.has_gpu_hours()) return;
  into.set_device_hours(plan.gpu_hours());
  if (wish.device_hour_price > 0)
    into.set_cost(fmt::format("{:.2f}", plan.gpu_hours() * wish.device_hour_price));
}

}  // namespace

Estimate estimate(const v1alpha1::JobSpec& spec, const planner::DeviceFacts& facts,
                  const EstimateWish& wish) {
  const planner::PlanAnswer answer =
      planner::answer_job(spec, facts, planner::default_engine_profile(),
                          {.all_candidates = wish.all_candidates, .gives_up = wish.gives_up});
  Estimate told;
  told.set_devices(spec.resources().devices());
  told.set_fits(!answer.error);
  if (answer.error) told.set_reason(answer.error->message);
  *told.mutable_report() = answer.report;
  for (const std::string& warning : answer.warnings) told.add_warnings(warning);
  if (!answer.error) add_times(answer.report.plan(), wish, told);
  return told;
}

Estimate refused_estimate(int devices, const std::string& reason) {
  Estimate refused;
  refused.set_devices(devices);
  refused.set_reason(reason);
  return refused;
}

Status check_device_counts(std::size_t counts) {
  if (counts > kMostDeviceCounts) return bad_input(fmt::format("at most {}", kMostDeviceCounts));
  return {};
}

Result<double> parse_device_hour_price(const std::string& text) {
  if (text.empty()) return 0.0;
  const auto price = parse_decimal(text);
  if (!price || *price < 0 || *price > kHighestPrice)
    return bad_input("expected a decimal number from 0 to 1,000,000, such as \"2.50\"");
  return *price;
}

}  // namespace caravan::controller
