#include "service/methods/metrics_methods.h"

#include <fmt/format.h>

#include <charconv>

#include "operator/api/job_conditions.h"
#include "operator/api/job_reader.h"
#include "service/access/review.h"
#include "service/answer/token.h"
#include "service/jobs/resource_name.h"
#include "service/methods/read_methods.h"

namespace caravan::service {
namespace {

using v1alpha1::StreamMetricsRequest;
using v1alpha1::StreamMetricsResponse;

std::string text_of(StepCursor at, const std::string& job_uid) {
  return token_of({job_uid}, {std::to_string(at.attempt), std::to_string(at.step)});
}

std::optional<int> number_in(const std::string& text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

Answer<StepCursor> cursor_of(const std::string& text, const std::string& job_uid) {
  if (text.empty()) return StepCursor{};
  const auto parts = place_of_token(text, {job_uid}, 2);
  const auto attempt = parts ? number_in((*parts)[0]) : std::nullopt;
  const auto step = parts ? number_in((*parts)[1]) : std::nullopt;
  if (attempt && step) return StepCursor{*attempt, *step};
  return bad_field("cursor", "expected that of a message of StreamMetrics of this very job");
}

}  // namespace

MetricsMethods::MetricsMethods(const JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock,
                               std::function<bool()> is_filled, const OperatorAccess& operator_access,
                               const StepFollower::Paces& paces, const StreamThreads::Limits& limits)
    : jobs_(jobs),
      callers_(callers),
      rights_(rights),
      clock_(clock),
      is_filled_(std::move(is_filled)),
      steps_(operator_access.address.empty() ? std::nullopt
                                             : std::optional<OperatorSteps>(std::in_place, operator_access)),
      paces_(paces),
      threads_(limits) {}

Answer<MetricsMethods::Wish> MetricsMethods::wish_of(const Call& call, const StreamMetricsRequest& request) {
  const auto key = job_key_of(request.name());
  if (!key) return tl::unexpected(key.error());
  const auto allowed = rights_.check(call.context, call.caller, {"get", key->name_space, key->name});
  if (!allowed) return tl::unexpected(allowed.error());
  if (!is_filled_()) return tl::unexpected(not_filled());
  const EntryPtr entry = jobs_.get(*key);
  if (!entry) return fault(Code::kNotFound, faults::kNotFound, fmt::format("there is no {}", name_of(*key)));
  Wish wish{.job = *key, .job_uid = kube::uid_of(entry->object->parse())};
  const auto at = cursor_of(request.cursor(), wish.job_uid);
  if (!at) return tl::unexpected(at.error());
  wish.at = *at;
  return wish;
}

Answer<bool> MetricsMethods::job_has_ended(const CallContext& context, const Caller& caller,
                                           const Wish& wish) {
  const auto allowed =
      review(callers_, rights_, context, caller, {"get", wish.job.name_space, wish.job.name});
  if (!allowed && is_final(allowed.error())) return tl::unexpected(allowed.error());
  const EntryPtr entry = jobs_.get(wish.job);
  const kube::Json object = entry ? entry->object->parse() : kube::Json();
  if (!entry || kube::uid_of(object) != wish.job_uid)
    return fault(Code::kNotFound, faults::kNotFound, "the job was deleted");
  return controller::is_finished(controller::read_job_but_spec(object).status);
}

Answer<std::shared_ptr<MetricsPipe>> MetricsMethods::stream_metrics(const Call& call,
                                                                    const StreamMetricsRequest& request,
                                                                    std::function<void()> news, End end) {
  const auto wish = wish_of(call, request);
  if (!wish) return tl::unexpected(wish.error());
  if (!steps_)
    return fault(Code::kFailedPrecondition, faults::kNoMetrics,
                 "this service was started without --operator, so it does not hear how training goes");
  const auto pipe = std::make_shared<MetricsPipe>(clock_, std::move(news));
  const auto run = [this, pipe, caller = call.caller, wish = *wish, follow = request.follow(),
                    end = std::move(end)](const std::stop_token& stop) {
    const StepFollower::Outside outside{
        .job_has_ended = [&](const CallContext& context) { return job_has_ended(context, caller, wish); },
        .read = [&](const CallContext& context, StepCursor at,
                    const auto& take) { return steps_->read(context, wish.job_uid, at, take); },
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
