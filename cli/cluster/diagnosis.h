// Why a job does not run, or not as it should, and what to do about it: from what the cluster says of it.
//
// diagnose() looks from the outside to the inside, as a job's life goes: operator, suspension, plan, queue,
// pods, ranks. What holds the job up comes first; what follows from it is left out. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/job_description.h"
#include "operator/view/node_view.h"

namespace caravan::cli {

struct QuotaView {
  std::string name = {};
  std::string resource = {};  // such as requests.nvidia.com/gpu
  std::int64_t used = 0;
  std::int64_t hard = 0;
};

struct ClusterFacts {
  JobFacts job = {};
  std::optional<std::vector<controller::NodeView>> nodes = {};  // none: they may not be read
  std::vector<QuotaView> quotas = {};
  std::string context = {};  // of the kubeconfig, where the user has named it
};

enum class Gravity { kGood, kNotice, kProblem };

struct Finding {
  Gravity gravity = Gravity::kNotice;
  std::string what = {};
  std::string advice = {};  // empty: there is nothing to do

  bool operator==(const Finding&) const = default;
};

// At least one.
std::vector<Finding> diagnose(const ClusterFacts& facts);

// Of a ResourceQuota.
std::vector<QuotaView> read_quota(const kube::Json& quota);

}  // namespace caravan::cli
