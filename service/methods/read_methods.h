// GetJob, ListJobs and ListCheckpoints, from this service's own copy of the jobs: the API server is asked for
// rights only, and not even for these when it was asked just now.
#pragma once

#include <functional>

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/access/rights.h"
#include "service/jobs/job_feed.h"
#include "service/methods/call.h"
#include "service/methods/job_lookup.h"

namespace caravan::service {

class ReadMethods {
 public:
  // is_filled: whether the copy has all jobs.
  ReadMethods(const JobFeed& jobs, Rights& rights, std::function<bool()> is_filled)
      : jobs_(jobs), rights_(rights), is_filled_(std::move(is_filled)), lookup_(jobs, rights, is_filled_) {}

  Answer<v1alpha1::Job> get_job(const Call& call, const v1alpha1::GetJobRequest& request);
  Answer<v1alpha1::ListJobsResponse> list_jobs(const Call& call, const v1alpha1::ListJobsRequest& request);
  Answer<v1alpha1::ListCheckpointsResponse> list_checkpoints(const Call& call,
                                                             const v1alpha1::ListCheckpointsRequest& request);

 private:
  Answer<v1alpha1::Job> read(const Call& call, const kube::ObjectKey& key);

  const JobFeed& jobs_;
  Rights& rights_;
  const std::function<bool()> is_filled_;
  const JobLookup lookup_;
};

}  // namespace caravan::service
