// One reader of WatchJobs: all jobs that there are, then every change, as far as the filter asks for them.
//
// A reader may be behind by so many changes; then he is dropped, not queued for ever.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "service/jobs/job_feed.h"
#include "service/jobs/job_filter.h"

namespace caravan::service {

class JobWatch final : public JobFeed::Listener {
 public:
  static constexpr std::size_t kMostBehind = 256;

  // goes_on: with a resume_token, and so after what was there at the beginning.
  JobWatch(std::string name_space, JobFilter filter, bool goes_on)
      : name_space_(std::move(name_space)), filter_(std::move(filter)), goes_on_(goes_on) {}

  // news: that next() has something now; lost: that the reader was too slow. Neither may call back.
  void on_news(std::function<void()> news, std::function<void()> lost);
  void begin(JobFeed::Opening opening);
  void on_change(const ChangePtr& change) override;
  void heartbeat(const std::string& version);

  // The next message, a v1alpha1::WatchJobsResponse as it goes over the wire: a job is put into it as it
  // was serialized once for all readers. False: there is none now.
  bool next(std::string& into);

 private:
  bool concerns(const EntryPtr& job) const;
  bool next_present(std::string& into);
  bool tell(const JobChange& change, std::string& into) const;

  const std::string name_space_;  // empty: all
  const JobFilter filter_;
  const bool goes_on_;
  std::mutex mutex_;
  std::function<void()> news_;
  std::function<void()> lost_;
  bool began_ = false;
  bool is_lost_ = false;
  std::size_t may_be_behind_ = kMostBehind;
  std::deque<EntryPtr> present_;
  std::string complete_;  // the version to tell behind those; empty: told, or not to be
  std::deque<ChangePtr> changes_;
  std::string heartbeat_;  // the version to tell when there is nothing else
};

}  // namespace caravan::service
