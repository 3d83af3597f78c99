// A Workload of Kueue (kueue.x-k8s.io/v1beta2) as decisions see it, read from the API server's object, and
// what the operator writes back into its status. Absent or strange fields read as nothing. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job_object.h"

namespace caravan::controller {

// Nodes of the cluster with these labels take so many pods.
struct WorkloadDomain {
  std::map<std::string, std::string> node_labels = {};
  int pods = 0;
  bool operator==(const WorkloadDomain&) const = default;
};

// What a queue or one of its admission checks asks of the pods.
struct PodSetUpdate {
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::map<std::string, std::string> node_selector = {};
  kube::JsonArray tolerations = {};
  bool operator==(const PodSetUpdate&) const = default;
};

struct WorkloadView {
  std::string name = {};
  std::string uid = {};
  std::string version = {};
  bool being_deleted = false;
  bool active = true;
  std::string queue = {};                    // the LocalQueue that it stands in
  std::string priority_class = {};           // empty: none
  std::optional<int> slice_size = {};        // pods that are to stay within one domain
  kube::JsonArray conditions = {};           // as they stand: whoever writes one writes all
  std::vector<std::string> flavors = {};     // that were assigned, each once, by name
  std::vector<PodSetUpdate> updates = {};    // of the admission checks, in order
  std::vector<WorkloadDomain> domains = {};  // of the assigned topology; the first pods go to the first
  bool checks_are_ready = true;
  std::string check_waited_for = {};  // the first that is not ready, with its state and words

  bool operator==(const WorkloadView&) const = default;
  // Null when there is none.
  const kube::Json* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  // Of that condition; empty when there is none.
  std::string reason_of(std::string_view type) const;
  std::string message_of(std::string_view type) const;
};

// A ResourceFlavor: the kind of machines that was assigned.
struct FlavorView {
  std::map<std::string, std::string> node_labels = {};
  kube::JsonArray tolerations = {};
};
FlavorView read_flavor(const kube::Json& object);

// Conditions of a Workload.
namespace workload {
inline constexpr char kQuotaReserved[] = "QuotaReserved";
inline constexpr char kAdmitted[] = "Admitted";
inline constexpr char kEvicted[] = "Evicted";
inline constexpr char kPodsReady[] = "PodsReady";
inline constexpr char kRequeued[] = "Requeued";
inline constexpr char kFinished[] = "Finished";
}  // namespace workload

WorkloadView read_workload(const kube::Json& object);

// One of a Workload's conditions as it is to be.
struct WorkloadCondition {
  std::string type;
  bool value = false;
  std::string reason;
  std::string message;
};

// JSON merge patches of the status; the server refuses one when the Workload has changed since it was read.
// A list is replaced as a whole, so the conditions that others wrote stand in it again.
kube::Json conditions_patch(const WorkloadView& workload, const std::vector<WorkloadCondition>& wanted,
                            TimePoint now);
// What the queue asks of whoever runs the pods once they are gone: the quota is given back, and the Workload
// waits again.
kube::Json release_patch(const WorkloadView& workload, TimePoint now);

}  // namespace caravan::controller
