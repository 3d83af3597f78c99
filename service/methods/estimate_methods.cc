#include "service/methods/estimate_methods.h"

#include <algorithm>
#include <memory>

#include "operator/view/job_estimate.h"
#include "service/jobs/job_message.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using controller::EstimateWish;
using v1alpha1::Estimate;
using v1alpha1::EstimateJobRequest;
using v1alpha1::LlamaTrainingJob;

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
  if (!complete) return controller::refused_estimate(devices, complete.error().message);
  return controller::estimate(complete->spec(), {}, wish);
}

}  // namespace

Answer<v1alpha1::EstimateJobResponse> EstimateMethods::estimate_job(const Call& call,
                                                                    const EstimateJobRequest& request) {
  const auto name_space = namespace_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  if (auto few = controller::check_device_counts(static_cast<std::size_t>(request.devices_size())); !few)
    return bad_field("devices", few.error().message);
  const auto price = controller::parse_device_hour_price(request.device_hour_price());
  if (!price) return bad_field("device_hour_price", price.error().message);
  if (auto may = rights_.check(call.context, call.caller, {"create", *name_space}); !may)
    return tl::unexpected(may.error());
  const LlamaTrainingJob job = named(request.job());
  const auto complete = completed_job(job);
  if (!complete) return tl::unexpected(complete.error());
  const auto turn = take_turn({.user = call.caller.user, .name_space = *name_space});
  if (!turn) {
    Fault busy{.code = Code::kResourceExhausted,
               .reason = faults::kBusy,
               .message = "others are being planned for; ask again in a moment"};
    busy.retry_after = std::chrono::seconds(1);
    return tl::unexpected(std::move(busy));
  }
  const auto is_late = [&] { return clock_.now() >= call.context.deadline; };
  const auto gives_up = [&] { return call.context.stop.stop_requested() || is_late(); };
  const EstimateWish wish{*price, request.all_candidates(), clock_.wall_now(), gives_up};
  v1alpha1::EstimateJobResponse response;
  for (const int devices : request.devices()) *response.add_estimates() = estimate_on(job, devices, wish);
  if (request.devices().empty()) *response.add_estimates() = controller::estimate(complete->spec(), {}, wish);
  if (call.context.stop.stop_requested())
    return fault(Code::kCancelled, faults::kCancelled, "the caller has gone");
  if (is_late())
    return fault(Code::kDeadlineExceeded, faults::kTimeout,
                 "there was no time to judge all layouts; ask of fewer numbers of devices, or without all "
                 "candidates");
  return response;
}

std::shared_ptr<void> EstimateMethods::take_turn(const Whose& whose) {
  const std::scoped_lock lock(mutex_);
  const bool is_planned_for = std::ranges::any_of(planned_for_, [&](const Whose& other) {
    return other.user == whose.user || other.name_space == whose.name_space;
  });
  if (planned_for_.size() >= kAtOnce || is_planned_for) return nullptr;
  const auto place = planned_for_.insert(planned_for_.end(), whose);
  return {this, [this, place](void*) {
            const std::scoped_lock given_back(mutex_);
            planned_for_.erase(place);
          }};
}

}  // namespace caravan::service
