#include "service/methods/job_lookup.h"

#include <fmt/format.h>

#include "service/jobs/resource_name.h"

namespace caravan::service {

Fault not_filled() {
  Fault wait{.code = Code::kUnavailable,
             .reason = faults::kNotReady,
             .message = "this replica has not read all jobs yet; ask again"};
  wait.retry_after = std::chrono::seconds(1);
  return wait;
}

Answer<EntryPtr> JobLookup::find(const Call& call, const kube::ObjectKey& key) const {
  const auto allowed = rights_.check(call.context, call.caller, {"get", key.name_space, key.name});
  if (!allowed) return tl::unexpected(allowed.error());
  if (const auto ours = jobs_.has_jobs_of(key.name_space); !ours) return tl::unexpected(ours.error());
  if (!is_filled_()) return tl::unexpected(not_filled());
  EntryPtr job = jobs_.get(key);
  if (job) return job;
  return fault(Code::kNotFound, faults::kNotFound, fmt::format("there is no {}", name_of(key)));
}

Answer<bool> job_has_ended(const JobFeed& jobs, const kube::ObjectKey& key, const std::string& uid) {
  const EntryPtr entry = jobs.get(key);
  if (!entry || entry->object->uid() != uid)
    return fault(Code::kNotFound, faults::kNotFound, "the job was deleted");
  return entry->has_ended;
}

}  // namespace caravan::service
