#include "service/methods/estimate_methods.h"

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
  if (request.devices().empty()) *response.add_estimates() = controller::estimate(complete->spec(), {}, wish);
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
