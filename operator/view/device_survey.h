// What the nodes of the cluster say about their devices, for a job that does not say it itself.
//
// GPUs are read from the labels of their vendor's programs (api/device_labels.h) and from what nodes offer;
// only nodes that are ready, open for pods and wanted by the job count. Nodes with one product and as many
// devices each are a pool; which of several is taken is decided in pool_choice.h. Ranks on processors get
// the memory of the roomiest node, or what the job asks for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/view/node_view.h"
#include "planner/plan.h"

namespace caravan::controller {

struct DevicePool {
  std::string product = {};  // label value; empty: its nodes do not say
  int devices_per_node = 0;  // at most as many as a pod may have
  std::int64_t devices = 0;  // of all its nodes, in pods of so many: what there is, not what is free
  std::optional<std::int64_t> memory_bytes = {};  // of one device, of the smallest that says so
};

// Those with the devices that the job asks for, the largest first. A node with many devices also counts for
// pools of nodes with fewer: it holds several such pods.
std::vector<DevicePool> device_pools(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes);

// The job on one pool, or on whatever it describes itself.
struct SurveyedJob {
  v1alpha1::JobSpec spec = {};  // with what the nodes say filled in
  planner::DeviceFacts facts = {};
  std::string gpu_product = {};  // label value; empty: no node tells of one
  std::optional<DevicePool> pool = {};
};

struct DeviceSurvey {
  std::vector<SurveyedJob> places = {};  // where the job may be planned
  std::string problem = {};              // why there are none
  bool problem_lasts = false;            // whatever nodes come
};

DeviceSurvey survey_devices(const Job& job, const std::vector<NodeView>& nodes);

}  // namespace caravan::controller
