#include "operator/controller/domain_claims.h"

#include <utility>

#include "operator/view/node_view.h"

namespace caravan::controller {

DomainClaims::OfOthers DomainClaims::of_others(const std::string& job_uid) const {
  const std::scoped_lock lock(mutex_);
  OfOthers others{.claims = claims_};
  for (const auto& [job, chosen] : by_job_) {
    if (job == job_uid) continue;
    for (const auto& [domain, asked] : chosen) add_demand(asked, others.asked[domain]);
  }
  return others;
}

bool DomainClaims::claim(const std::string& job_uid, DomainDemands chosen, std::uint64_t seen) {
  const std::scoped_lock lock(mutex_);
  if (chosen.empty()) {
    by_job_.erase(job_uid);
    return true;
  }
  if (claims_ != seen) return false;
  ++claims_;
  by_job_[job_uid] = std::move(chosen);
  return true;
}

void DomainClaims::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  by_job_.erase(job_uid);
}

}  // namespace caravan::controller
