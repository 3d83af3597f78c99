// WatchJobs: who may, and for how long.
//
// Rights are looked up again while a stream lasts, so that it ends soon after they do. A quiet stream has a
// heartbeat now and then, whose token is a newer place to go on from.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "service/access/callers.h"
#include "service/access/rights.h"
#include "service/methods/call.h"
#include "service/methods/job_watch.h"

namespace caravan::service {

class WatchMethods {
 public:
  struct Paces {
    std::chrono::milliseconds review{10'000};  // between two looks at the rights
    int reviews_between_heartbeats = 3;
  };
  using End = std::function<void(const Fault&)>;

  WatchMethods(JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock, std::function<bool()> is_filled,
               const Paces& paces);

  // news: that next() of the watch has something; end: that the stream is over.
  Answer<std::shared_ptr<JobWatch>> watch_jobs(const Call& call, const v1alpha1::WatchJobsRequest& request,
                                               std::function<void()> news, End end);

 private:
  struct Reader {
    Call call;
    std::string name_space;
    std::weak_ptr<JobWatch> watch;
    End end;
  };

  void look_after_readers(const std::stop_token& stop);
  void ask_last(const Reader& reader);
  Answer<void> review(const Reader& reader, const std::stop_token& stop);

  JobFeed& jobs_;
  Callers& callers_;
  Rights& rights_;
  Clock& clock_;
  std::function<bool()> is_filled_;
  const Paces paces_;
  std::mutex mutex_;
  std::list<Reader> readers_;
  std::jthread rounds_;
};

}  // namespace caravan::service
