// WatchJobs: who may, and for how long.
//
// Rights are looked up again while a stream lasts, so that it ends soon after they do: once for all streams
// of a caller in a namespace, and a few at a time. While the API server is away, streams go on with what
// there is, as its own watches would, until a review has had no answer a minute after one had none. A quiet
// stream has a heartbeat now and then, whose token is a newer place to go on from.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "service/access/callers.h"
#include "service/access/rights.h"
#include "service/methods/call.h"
#include "service/methods/job_watch.h"
#include "serving/task_pool.h"

namespace caravan::service {

class WatchMethods {
 public:
  struct Paces {
    std::chrono::milliseconds review{10'000};  // between two looks at the rights
    int reviews_between_heartbeats = 3;
    std::chrono::milliseconds patience{60'000};  // with an API server that says nothing of them
  };
  using End = std::function<void(const Fault&)>;

  WatchMethods(JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock, std::function<bool()> is_filled,
               const Paces& paces);

  // news: that next() of the watch has something; end: that the stream is over.
  Answer<std::shared_ptr<JobWatch>> watch_jobs(const Call& call, const v1alpha1::WatchJobsRequest& request,
                                               std::function<void()> news, End end);

 private:
  using Right = std::pair<Caller, std::string>;  // to watch that namespace; empty: all
  struct Reader {
    std::weak_ptr<JobWatch> watch;
    End end;
  };
  struct Readers {
    std::optional<Clock::TimePoint> failing_since = {};  // no review has had an answer
    bool is_asked = false;                               // and not answered yet
    std::list<Reader> list = {};
  };

  void look_after_readers(const std::stop_token& stop);
  void begin_reviews();
  void review(const Right& right, const std::stop_token& stop);
  void send_heartbeats();

  JobFeed& jobs_;
  Callers& callers_;
  Rights& rights_;
  Clock& clock_;
  std::function<bool()> is_filled_;
  const Paces paces_;
  std::mutex mutex_;
  std::map<Right, Readers> readers_;
  TaskPool reviews_;
  std::jthread rounds_;
};

}  // namespace caravan::service
