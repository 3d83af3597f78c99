#include "operator/api/job_queue.h"

#include "common/schema/field_rules.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

std::string queue_by_label(const Job& job) {
  const auto label = job.labels.find(labels::kQueueName);
  return label == job.labels.end() ? "" : label->second;
}

}  // namespace

v1alpha1::Gang::Provider gang_provider(const Job& job) {
  const auto chosen = job.spec.scheduling().gang().provider();
  if (chosen != v1alpha1::Gang::ProviderUnspecified && chosen != v1alpha1::Gang::None) return chosen;
  return queue_by_label(job).empty() ? v1alpha1::Gang::None : v1alpha1::Gang::Kueue;
}

std::string queue_of(const Job& job) {
  const std::string& named = job.spec.scheduling().queue();
  return named.empty() && gang_provider(job) == v1alpha1::Gang::Kueue ? queue_by_label(job) : named;
}

std::chrono::seconds gang_timeout(const Job& job) {
  v1alpha1::Gang gang = job.spec.scheduling().gang();
  schema::apply_defaults(gang);
  return std::chrono::seconds(gang.timeout_seconds());
}

}  // namespace caravan::controller
