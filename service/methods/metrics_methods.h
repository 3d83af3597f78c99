// StreamMetrics: the steps of a job as the operator hears of them.
//
// A stream has a thread, of which there is a bounded number for all and for one. Rights are looked up again
// while it lasts.
#pragma once

#include <functional>
#include <memory>

#include "service/access/callers.h"
#include "service/access/rights.h"
#include "service/methods/job_lookup.h"
#include "service/operator_link.h"
#include "service/steps/step_follower.h"
#include "service/streams/stream_pipe.h"
#include "service/streams/stream_threads.h"

namespace caravan::service {

using MetricsPipe = StreamPipe<v1alpha1::StreamMetricsResponse>;

class MetricsMethods {
 public:
  // fault: null when all was read.
  using End = std::function<void(const Fault* fault)>;

  // is_filled: whether the copy has all jobs; link: null where there is no operator to ask, outlives it.
  MetricsMethods(const JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock,
                 std::function<bool()> is_filled, const OperatorLink* link, const StepFollower::Paces& paces,
                 const StreamThreads::Limits& limits);

  // Goes on until the call is asked to stop. news: that next() of the pipe has something; end: that the
  // stream is over, and all that was read has been taken.
  Answer<std::shared_ptr<MetricsPipe>> stream_metrics(const Call& call,
                                                      const v1alpha1::StreamMetricsRequest& request,
                                                      std::function<void()> news, End end);

 private:
  struct Wish {
    kube::ObjectKey job = {};
    std::string job_uid = {};
    StepCursor at = {};
  };

  Answer<Wish> wish_of(const Call& call, const v1alpha1::StreamMetricsRequest& request);
  // Whether the job has ended, or why the stream may not go on.
  Answer<bool> is_over(const CallContext& context, const Caller& caller, const Wish& wish);

  const JobFeed& jobs_;
  Callers& callers_;
  Rights& rights_;
  Clock& clock_;
  const JobLookup lookup_;
  const OperatorLink* const link_;
  const StepFollower::Paces paces_;
  StreamThreads threads_;
};

}  // namespace caravan::service
