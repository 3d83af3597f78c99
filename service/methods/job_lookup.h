// A job of this service's own copy, for a caller who names it.
#pragma once

#include <functional>

#include "service/access/rights.h"
#include "service/jobs/job_feed.h"
#include "service/methods/call.h"

namespace caravan::service {

// UNAVAILABLE while the copy of the jobs fills.
Fault not_filled();

// The references outlive it.
class JobLookup {
 public:
  // is_filled: whether the copy has all jobs.
  JobLookup(const JobFeed& jobs, Rights& rights, std::function<bool()> is_filled)
      : jobs_(jobs), rights_(rights), is_filled_(std::move(is_filled)) {}

  // Of whoever may get it.
  Answer<EntryPtr> find(const Call& call, const kube::ObjectKey& key) const;

 private:
  const JobFeed& jobs_;
  Rights& rights_;
  const std::function<bool()> is_filled_;
};

// NOT_FOUND once it was deleted, were there another one of its name by then.
Answer<bool> job_has_ended(const JobFeed& jobs, const kube::ObjectKey& key, const std::string& uid);

}  // namespace caravan::service
