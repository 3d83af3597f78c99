// What the nodes of the cluster say about their devices, for a job that does not say it itself.
//
// GPUs are read from the labels of GPU feature discovery and from what nodes offer; only nodes that are
// ready, open for pods and wanted by the job's node selector count. Of several products the one with the
// most devices is taken, so that one plan fits all pods. Ranks on processors get the memory of the roomiest
// node, or what the job asks for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/snapshot.h"
#include "planner/plan.h"

namespace caravan::controller {

struct DeviceSurvey {
  std::string product = {};  // label value; empty: no node says
  std::optional<std::int64_t> memory_bytes = {};
  std::optional<int> devices_per_node = {};
};

// Empty when no node offers what the job asks for.
DeviceSurvey survey_gpus(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes);

struct SurveyedJob {
  v1alpha1::JobSpec spec = {};  // with what the nodes say filled in
  planner::DeviceFacts facts = {};
  std::string gpu_product = {};  // label value; empty: pods may go to any node
  std::string problem = {};      // empty: there are such devices, or may be
};

SurveyedJob survey_devices(const Job& job, const std::vector<NodeView>& nodes);

}  // namespace caravan::controller
