// StreamLogs: what a node of a job, or a rank, prints, as the caller reads it from the API server.
//
// A stream that lasts has a thread, of which there is a bounded number for all and for one; what its reader
// has not taken yet is bounded too (stream_pipe.h).
#pragma once

#include <functional>
#include <memory>

#include "service/logs/log_follower.h"
#include "service/methods/job_lookup.h"
#include "service/streams/stream_pipe.h"
#include "service/streams/stream_threads.h"

namespace caravan::service {

using LogPipe = StreamPipe<v1alpha1::StreamLogsResponse>;

class LogMethods {
 public:
  // fault: null when all was read.
  using End = std::function<void(const Fault* fault)>;

  // is_filled: whether the copy has all jobs.
  LogMethods(const JobFeed& jobs, Rights& rights, CallerClients& clients, Clock& clock,
             std::function<bool()> is_filled, const LogFollower::Paces& paces,
             const StreamThreads::Limits& limits)
      : jobs_(jobs),
        lookup_(jobs, rights, std::move(is_filled)),
        clients_(clients),
        clock_(clock),
        paces_(paces),
        threads_("logs", limits) {}

  // Goes on until the call is asked to stop. news: that next() of the pipe has something; end: that the
  // stream is over, and all that was read has been taken.
  Answer<std::shared_ptr<LogPipe>> stream_logs(const Call& call, const v1alpha1::StreamLogsRequest& request,
                                               std::function<void()> news, End end);

 private:
  Answer<LogWish> wish_of(const Call& call, const v1alpha1::StreamLogsRequest& request);

  const JobFeed& jobs_;
  const JobLookup lookup_;
  CallerClients& clients_;
  Clock& clock_;
  const LogFollower::Paces paces_;
  StreamThreads threads_;
};

}  // namespace caravan::service
