// The constants of a training engine: bytes per parameter, memory outside the allocator, efficiencies.
//
// The default is planner/profiles/caravan.yaml, built into the library. Another file with the same keys may
// take its place; its loader checks bounds, so reading a checked message cannot fail on anything but decimals
// and quantities.
#pragma once

#include <cstdint>
#include <string>

#include "caravan/v1alpha1/profile.pb.h"
#include "common/result.h"

namespace caravan::planner {

struct EngineProfile {
  std::string name;
  int gradient_bytes = 0;
  int master_bytes = 0;  // of the copy that stands beside bf16 storage
  int moment_bytes = 0;  // of both moments
  int64_t gpu_context_bytes = 0;
  int64_t gpu_communication_group_bytes = 0;
  double gpu_fragmentation = 0;
  double memory_margin = 0;
  double gemm_efficiency = 1;
  double gemm_half_size = 0;
  double attention_efficiency = 1;
  double layer_memory_passes = 0;
  double layer_overhead_seconds = 0;
  double node_bandwidth_fraction = 1;
  double network_bandwidth_fraction = 1;
  double data_overlap = 0;
  double overrule_gain = 0;
};

Result<EngineProfile> read_engine_profile(const v1alpha1::EngineProfile& message);

EngineProfile default_engine_profile();

}  // namespace caravan::planner
