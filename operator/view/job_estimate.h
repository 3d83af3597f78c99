// What a job is foreseen to take: the planner's answer with its end and its cost, as the job service and
// `caravan estimate` give it. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/estimate.pb.h"
#include "common/clock.h"
#include "common/result.h"
#include "planner/plan.h"

namespace caravan::controller {

inline constexpr std::size_t kMostDeviceCounts = 16;  // that one question may ask of

struct EstimateWish {
  double device_hour_price = 0;  // 0: none
  bool all_candidates = false;
  Clock::WallTime now{};                // when the job would start
  std::function<bool()> gives_up = {};  // as planner::PlanOptions has it
};

// spec: with every default. The report is that of `caravan plan -o json` with these facts.
v1alpha1::Estimate estimate(const v1alpha1::JobSpec& spec, const planner::DeviceFacts& facts,
                            const EstimateWish& wish);

// Of a job that cannot be planned for on so many devices.
v1alpha1::Estimate refused_estimate(int devices, const std::string& reason);

// The numbers of devices of one question are not too many. Bad input; the caller names the field.
Status check_device_counts(std::size_t counts);

// What a device costs for an hour, a decimal; empty: 0. Bad input; the caller names the field.
Result<double> parse_device_hour_price(const std::string& text);

}  // namespace caravan::controller
