#include "service/methods/estimate_methods.h"

#include <fmt/format.h>

#include <memory>

#include "common/decimal.h"
#include "kube/api/timestamp.h"
#include "planner/engine_profile.h"
#include "planner/plan.h"
#include "service/jobs/job_message.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::Estimate;
using v1alpha1::EstimateJobRequest;
using v1alpha1::LlamaTrainingJob;

constexpr double kSecondsOfDay = 86400;
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

// An estimate needs no name.
LlamaTrainingJob named(const LlamaTrainingJob& given) {
  LlamaTrainingJob job = given;
  if (job.metadata().name().empty() && job.metadata().generate_name().empty())
    job.mutable_metadata()->set_name("estimate");
  return job;
}

Estimate estimate_on(const LlamaTrainingJob& job, int devices, const EstimateWish& wish) {
  LlamaTrainingJob other = job;
  other.mutable_spec()->mutable_resources()->set_devices(devices);
  const auto complete = completed_job(other);
  if (complete) return estimate(*complete, wish);
  Estimate refused;
  refused.set_devices(devices);
  refused.set_reason(complete.error().message);
  return refused;
}

Answer<double> price_of(const std::string& text) {
  if (text.empty()) return 0.0;
  const auto price = parse_decimal(text);
  if (!price || *price < 0)
    return bad_field("device_hour_price", "expected a decimal number from 0, such as \"2.50\"");
  return *price;
}

}  // namespace

Estimate estimate(const LlamaTrainingJob& job, const EstimateWish& wish) {
  const planner::PlanAnswer answer = planner::answer_job(job.spec(), {}, planner::default_engine_profile(),
                                                         {.all_candidates = wish.all_candidates});
  Estimate told;
  told.set_devices(job.spec().resources().devices());
  told.set_fits(!answer.error);
  if (answer.error) told.set_reason(answer.error->message);
  *told.mutable_report() = answer.report;
  for (const std::string& warning : answer.warnings) told.add_warnings(warning);
  if (!answer.error) add_times(answer.report.plan(), wish, told);
  return told;
}

Answer<v1alpha1::EstimateJobResponse> EstimateMethods::estimate_job(const Call& call,
                                                                    const EstimateJobRequest& request) {
  const auto name_space = namespace_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  if (request.devices_size() > kMostCounts)
    return bad_field("devices", fmt::format("at most {}", kMostCounts));
  const auto price = price_of(request.device_hour_price());
  if (!price) return tl::unexpected(price.error());
  if (auto may = rights_.check(call.context, call.caller, {"create", *name_space}); !may)
    return tl::unexpected(may.error());
  const LlamaTrainingJob job = named(request.job());
  const auto complete = completed_job(job);
  if (!complete) return tl::unexpected(complete.error());
  const auto turn = take_turn(call.caller.user);
  if (!turn) {
    Fault busy{.code = Code::kResourceExhausted,
               .reason = faults::kBusy,
               .message = "others are being planned for; ask again in a moment"};
    busy.retry_after = std::chrono::seconds(1);
    return tl::unexpected(std::move(busy));
  }
  const EstimateWish wish{*price, request.all_candidates(), clock_.wall_now()};
  v1alpha1::EstimateJobResponse response;
  for (const int devices : request.devices()) {
    if (call.context.stop.stop_requested())
      return fault(Code::kCancelled, faults::kCancelled, "the caller has gone");
    *response.add_estimates() = estimate_on(job, devices, wish);
  }
  if (request.devices().empty()) *response.add_estimates() = estimate(*complete, wish);
  return response;
}

std::shared_ptr<void> EstimateMethods::take_turn(const std::string& user) {
  const std::scoped_lock lock(mutex_);
  if (planned_for_.size() >= kAtOnce || !planned_for_.insert(user).second) return nullptr;
  return {this, [this, user](void*) {
            const std::scoped_lock given_back(mutex_);
            planned_for_.erase(user);
          }};
}

}  // namespace caravan::service
