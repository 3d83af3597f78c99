#include "service/rpc/method_table.h"

#include <utility>

#include "service/rpc/known_fields.h"

namespace caravan::service {
namespace {

using namespace v1alpha1;

template <typename Of, typename Request, typename Response>
UnaryMethod reading(Of& of, Answer<Response> (Of::*method)(const Call&, const Request&)) {
  return {.run = [&of, method](const Call& call, const Message& request) -> Answer<MessagePtr> {
    auto answer = (of.*method)(call, static_cast<const Request&>(request));
    if (!answer) return tl::unexpected(std::move(answer.error()));
    return std::make_unique<Response>(*std::move(answer));
  }};
}

// Of a request that means something else without one of its fields.
template <typename Of, typename Request, typename Response>
UnaryMethod taking_all(Of& of, Answer<Response> (Of::*method)(const Call&, const Request&)) {
  UnaryMethod served = reading(of, method);
  served.run = [run = std::move(served.run)](const Call& call, const Message& request) {
    return check_fields_are_known(request).and_then([&] { return run(call, request); });
  };
  return served;
}

template <typename Of, typename Request, typename Response>
UnaryMethod changing(Of& of, Answer<Response> (Of::*method)(const Call&, const Request&)) {
  UnaryMethod served = taking_all(of, method);
  served.changes = true;
  return served;
}

// What next() of the source gives.
template <typename Response, typename Source>
Answer<StreamMethod::Next> next_of(Answer<std::shared_ptr<Source>> source) {
  if (!source) return tl::unexpected(std::move(source.error()));
  return [source = *std::move(source)](Message& into) { return source->next(static_cast<Response&>(into)); };
}

StreamMethod watching(WatchMethods& methods) {
  return {[&methods](const Call& call, const Message& request, std::function<void()> news,
                     const StreamMethod::End& end) -> Answer<StreamMethod::Next> {
    auto watch = methods.watch_jobs(call, static_cast<const WatchJobsRequest&>(request), std::move(news),
                                    [end](const Fault& fault) { end(&fault); });
    if (!watch) return tl::unexpected(std::move(watch.error()));
    return [watch = *std::move(watch)](Message& into) {
      std::string message;
      return watch->next(message) && into.ParseFromString(message);
    };
  }};
}

template <typename Of, typename Request, typename Response>
StreamMethod streaming(Of& of, Answer<std::shared_ptr<StreamPipe<Response>>> (Of::*method)(
                                   const Call&, const Request&, std::function<void()>, typename Of::End)) {
  return {[&of, method](const Call& call, const Message& request, std::function<void()> news,
                        const StreamMethod::End& end) {
    return next_of<Response>((of.*method)(call, static_cast<const Request&>(request), std::move(news), end));
  }};
}

}  // namespace

MethodTable method_table(Methods& methods) {
  return {{"GetJob", reading(methods.read, &ReadMethods::get_job)},
          {"ListJobs", reading(methods.read, &ReadMethods::list_jobs)},
          {"ListCheckpoints", reading(methods.read, &ReadMethods::list_checkpoints)},
          {"ListEvents", reading(methods.events, &EventMethods::list_events)},
          {"EstimateJob", taking_all(methods.estimates, &EstimateMethods::estimate_job)},
          {"GetCapacity", reading(methods.capacity, &CapacityMethods::get_capacity)},
          {"CreateJob", changing(methods.write, &WriteMethods::create_job)},
          {"SuspendJob", changing(methods.write, &WriteMethods::suspend_job)},
          {"ResumeJob", changing(methods.write, &WriteMethods::resume_job)},
          {"CancelJob", changing(methods.write, &WriteMethods::cancel_job)},
          {"CheckpointNow", changing(methods.write, &WriteMethods::checkpoint_now)},
          {"DeleteJob", changing(methods.write, &WriteMethods::delete_job)},
          {"StreamLogs", streaming(methods.logs, &LogMethods::stream_logs)},
          {"StreamMetrics", streaming(methods.metrics, &MetricsMethods::stream_metrics)},
          {"WatchJobs", watching(methods.watch)}};
}

}  // namespace caravan::service
