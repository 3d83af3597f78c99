#include "operator/controller/unseen_suspension.h"

#include <fmt/format.h>

#include "common/json.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/content_note.h"

namespace caravan::controller {

std::string fingerprint_of_wishes(const Job& job) {
  return fingerprint_of_text(
      fmt::format("{}\n{}\n{}", to_json(job.spec.worker()), to_json(job.spec.scheduling()), queue_of(job)));
}

bool missed_suspension(const Job& job) {
  const v1alpha1::JobStatus& status = job.status;
  if (status.asked_for().empty() || job.being_deleted || is_finished(status)) return false;
  const bool is_seen =
      job.spec.suspend() || (is_true(status, conditions::kSuspended) && !is_suspended_by_queue(status));
  return !is_seen && status.observed_generation() != job.generation &&
         status.asked_for() != fingerprint_of_wishes(job);
}

}  // namespace caravan::controller
