// What whoever places a job's pods (a queue, a scheduler of gangs, or the operator by the layout) adds to
// them: where they may run, and how they are known there. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job_object.h"

namespace caravan::controller {

inline constexpr int kHeaviestPreference = 100;                // of those of a pod
inline constexpr char kHostname[] = "kubernetes.io/hostname";  // a label that each machine has for itself

struct PodPlacement {
  std::map<std::string, std::string> node_selector = {};
  kube::JsonArray tolerations = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::string scheduler_name = {};  // empty: as the job says
  // Labels of nodes of the cluster, for some pods of the job each.
  std::vector<std::map<std::string, std::string>> domains = {};
  std::vector<int> domain_of_node = {};  // by node of the job, index of the above or -1; empty: none has one
  std::vector<int> topology_index = {};  // by node of the job, as replica_groups.h orders them; or empty
  bool domains_are_preferred = false;    // else strict

  bool operator==(const PodPlacement&) const = default;
};

// The hash by which a pod's label names its domain.
std::string domain_name(const std::map<std::string, std::string>& node_labels);
// That of the domain in which the placement wants the pod of that node; empty: in none.
std::string domain_of(const PodPlacement& placement, int node);

// Adds it to the pod of that node; what the pod says already of its own stays.
void place(const PodPlacement& placement, int node, kube::JsonObject& metadata, kube::JsonObject& spec);

}  // namespace caravan::controller
