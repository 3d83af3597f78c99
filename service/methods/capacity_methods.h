// GetCapacity: what of the nodes the operator knows to be free, and of the namespace's quota what the caller
// may read.
#pragma once

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/access/rights.h"
#include "service/methods/caller_client.h"
#include "service/operator_link.h"

namespace caravan::service {

// The lines of a ResourceQuota.
std::vector<v1alpha1::QuotaLimit> limits_of(const kube::Json& quota);

class CapacityMethods {
 public:
  // link: null where there is no operator to ask. Both outlive it.
  CapacityMethods(Rights& rights, CallerClients& clients, OperatorLink* link)
      : rights_(rights), clients_(clients), link_(link) {}

  // For whoever may create jobs in the namespace. What nobody tells is said in the answer; UNAVAILABLE where
  // the API server is away.
  Answer<v1alpha1::Capacity> get_capacity(const Call& call, const v1alpha1::GetCapacityRequest& request);

 private:
  void add_pools(v1alpha1::Capacity& into) const;
  Answer<void> add_quotas(const Call& call, const std::string& name_space, v1alpha1::Capacity& into);

  Rights& rights_;
  CallerClients& clients_;
  OperatorLink* const link_;
};

}  // namespace caravan::service
