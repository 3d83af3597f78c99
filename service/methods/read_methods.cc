#include "service/methods/read_methods.h"

#include "operator/view/progress_status.h"
#include "service/jobs/job_page.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {

Answer<v1alpha1::Job> ReadMethods::read(const Call& call, const kube::ObjectKey& key) {
  return lookup_.find(call, key).map([](const EntryPtr& job) { return job_of(*job); });
}

Answer<v1alpha1::Job> ReadMethods::get_job(const Call& call, const v1alpha1::GetJobRequest& request) {
  return job_key_of(request.name()).and_then([&](const auto& key) { return read(call, key); });
}

Answer<v1alpha1::ListJobsResponse> ReadMethods::list_jobs(const Call& call,
                                                          const v1alpha1::ListJobsRequest& request) {
  const auto name_space = namespace_or_all_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  const auto allowed = rights_.check(call.context, call.caller, {"list", *name_space});
  if (!allowed) return tl::unexpected(allowed.error());
  if (const auto ours = jobs_.has_jobs_of(*name_space); !ours) return tl::unexpected(ours.error());
  if (!is_filled_()) return tl::unexpected(not_filled());
  const auto page = page_of(jobs_.all(*name_space), request);
  if (!page) return tl::unexpected(page.error());
  v1alpha1::ListJobsResponse response;
  for (const EntryPtr& job : page->jobs) *response.add_jobs() = job_of(*job);
  response.set_next_page_token(page->next_page_token);
  response.set_total_size(static_cast<int>(page->total));
  return response;
}

Answer<v1alpha1::ListCheckpointsResponse> ReadMethods::list_checkpoints(
    const Call& call, const v1alpha1::ListCheckpointsRequest& request) {
  const auto key = job_key_of(request.parent(), "parent");
  if (!key) return tl::unexpected(key.error());
  const auto job = read(call, *key);
  if (!job) return tl::unexpected(job.error());
  v1alpha1::ListCheckpointsResponse response;
  const auto known = controller::checkpoints_of(job->object().status());
  response.mutable_checkpoints()->Assign(known.begin(), known.end());
  return response;
}

}  // namespace caravan::service
