#include "operator/api/missing_claim.h"

namespace caravan::controller {

std::string missing_claim(const v1alpha1::JobSpec& spec) {
  if (spec.has_checkpoint() && spec.checkpoint().claim_name().empty()) {
    return "spec.checkpoint.claimName: must be set on a cluster, since a pod's own files go with it: a claim "
           "that all pods of the job can write to";
  }
  if (spec.model().has_init_from() && spec.model().init_from().claim_name().empty()) {
    return "spec.model.initFrom.claimName: must be set on a cluster, since a pod has no such folder of its "
           "own: a claim that holds it";
  }
  return "";
}

}  // namespace caravan::controller
