// One reader of WatchJobs: all jobs that there are, then every change, as far as the filter asks for them.
//
// What waits for him is names: a job is told as it is when its turn comes, so what changed several times
// meanwhile is told once, and a reader who is slow costs a name for each job. The token of a message is the
// version of the first change that it tells of: whoever goes on from there may hear of a change twice, and of
// each at least once.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "service/jobs/job_feed.h"
#include "service/jobs/job_filter.h"

namespace caravan::service {

class JobWatch final : public JobFeed::Listener {
 public:
  // goes_on: with a resume_token, and so after what was there at the beginning. jobs: outlive it.
  JobWatch(const JobFeed& jobs, std::string name_space, JobFilter filter, bool goes_on)
      : jobs_(jobs), name_space_(std::move(name_space)), filter_(std::move(filter)), goes_on_(goes_on) {}

  // That next() has something now; must not call back.
  void on_news(std::function<void()> news);
  void begin(const JobFeed::Opening& opening);
  void on_change(const ChangePtr& change) override;
  void heartbeat(const std::string& version);

  // The next message, a v1alpha1::WatchJobsResponse as it goes over the wire: a job is put into it as it
  // was serialized once for all readers. False: there is none now.
  bool next(std::string& into);

 private:
  struct Waiting {
    std::string token;
    std::set<std::string> known = {};  // UIDs of what the reader may have heard of under this name
  };
  // The empty name: that all jobs which there were have been told.
  using ByName = std::map<kube::ObjectKey, Waiting>;

  // Of that name, one that waits already or a new one at the end.
  std::pair<ByName::iterator, bool> wait_for(const kube::ObjectKey& name, const std::string& token);
  // A message about the first of them, if there is anything to tell of it.
  bool tell_first(std::string& into);
  void note_as_known(const JobChange& change, Waiting& waiting) const;
  bool concerns(const EntryPtr& job) const;

  const JobFeed& jobs_;
  const std::string name_space_;  // empty: all
  const JobFilter filter_;
  const bool goes_on_;
  std::mutex mutex_;
  std::function<void()> news_;
  bool began_ = false;
  ByName waiting_;
  std::deque<ByName::iterator> turns_;  // the next one first
  std::string heartbeat_;               // the version to tell when there is nothing else
};

}  // namespace caravan::service
