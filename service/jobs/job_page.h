// A page of a list of jobs: ordered, and gone on with by a token that says behind which job. Jobs that come
// and go meanwhile shift nothing. Pure.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/jobs/job_feed.h"

namespace caravan::service {

struct JobPage {
  std::vector<EntryPtr> jobs = {};
  std::string next_page_token = {};  // empty: no more
  std::size_t total = 0;             // of all pages
};

// jobs: all of the namespace; the request's filter is applied here.
Answer<JobPage> page_of(const std::vector<EntryPtr>& jobs, const v1alpha1::ListJobsRequest& request);

}  // namespace caravan::service
