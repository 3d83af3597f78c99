#include "service/methods/metrics_methods.h"

#include "service/access/review.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::StreamMetricsRequest;
using v1alpha1::StreamMetricsResponse;

}  // namespace

MetricsMethods::MetricsMethods(const JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock,
                               std::function<bool()> is_filled, const OperatorLink* link,
                               const StepFollower::Paces& paces, const StreamThreads::Limits& limits)
    : jobs_(jobs),
      callers_(callers),
      rights_(rights),
      clock_(clock),
      lookup_(jobs, rights, std::move(is_filled)),
      link_(link),
      paces_(paces),
      threads_("streams of metrics", limits) {}

Answer<MetricsMethods::Wish> MetricsMethods::wish_of(const Call& call, const StreamMetricsRequest& request) {
  const auto key = job_key_of(request.name());
  if (!key) return tl::unexpected(key.error());
  const auto entry = lookup_.find(call, *key);
  if (!entry) return tl::unexpected(entry.error());
  Wish wish{.job = *key, .job_uid = std::string((*entry)->object->uid())};
  const auto at = step_cursor_of(request.cursor(), wish.job_uid);
  if (!at) return tl::unexpected(at.error());
  wish.at = *at;
  return wish;
}

Answer<bool> MetricsMethods::is_over(const CallContext& context, const Caller& caller, const Wish& wish) {
  const auto allowed =
      review(callers_, rights_, context, caller, {"get", wish.job.name_space, wish.job.name});
  if (!allowed && is_final(allowed.error())) return tl::unexpected(allowed.error());
  return job_has_ended(jobs_, wish.job, wish.job_uid);
}

Answer<std::shared_ptr<MetricsPipe>> MetricsMethods::stream_metrics(const Call& call,
                                                                    const StreamMetricsRequest& request,
                                                                    std::function<void()> news, End end) {
  const auto wish = wish_of(call, request);
  if (!wish) return tl::unexpected(wish.error());
  if (link_ == nullptr)
    return fault(Code::kFailedPrecondition, faults::kNoMetrics,
                 "this service was started without --operator, so it does not hear how training goes");
  const auto pipe = std::make_shared<MetricsPipe>(clock_, std::move(news));
  const auto run = [this, pipe, caller = call.caller, wish = *wish, follow = request.follow(),
                    end = std::move(end)](const std::stop_token& stop) {
    const StepFollower::Outside outside{
        .job_has_ended = [&](const CallContext& context) { return is_over(context, caller, wish); },
        .read = [&](const CallContext& context, StepCursor at,
                    const auto& take) { return link_->read(context, wish.job_uid, at, take); },
        .put =
            [&](const v1alpha1::WatchStepsResponse& told, StepCursor at) {
              StreamMetricsResponse message;
              *message.mutable_samples() = told.samples();
              message.set_cursor(text_of(at, wish.job_uid));
              return pipe->put(std::move(message), stop);
            }};
    const Answer<void> ended = StepFollower(clock_, paces_, outside, follow, wish.at).run(stop);
    if (pipe->drain(stop)) end(ended ? nullptr : &ended.error());
  };
  const auto started = threads_.start({call.caller.user, wish->job.name_space}, call.context.stop, run);
  if (!started) return tl::unexpected(started.error());
  return pipe;
}

}  // namespace caravan::service
