#include "operator/controller/unseen_suspension.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"
#include "common/version.h"
#include "operator/api/job_conditions.h"
#include "operator/children/content_note.h"

namespace caravan::controller {

std::string fingerprint_of_wishes(const Job& job) {
  const std::string wishes =
      fmt::format("{}\n{}", to_json(job.spec.worker()), to_json(job.spec.scheduling()));
  return fmt::format("{} {:.32}", version(), fingerprint_of_text(wishes));
}

bool missed_suspension(const Job& job) {
  const v1alpha1::JobStatus& status = job.status;
  if (status.asked_for().empty() || job.spec.suspend() || is_left_alone(job) || is_finished(status))
    return false;
  const bool is_of_this_version = status.asked_for().starts_with(fmt::format("{} ", version()));
  return status.observed_generation() != job.generation && is_of_this_version &&
         status.asked_for() != fingerprint_of_wishes(job);
}

bool forgets_former_wishes(const Job& job, const std::vector<PodView>& pods) {
  return !job.spec.suspend() ||
         std::ranges::all_of(pods, [](const PodView& pod) { return pod.gone_by.has_value(); });
}

}  // namespace caravan::controller
