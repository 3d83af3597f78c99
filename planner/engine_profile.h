// The constants of a training engine: bytes per parameter, memory outside the allocator, efficiencies.
//
// The default is planner/profiles/caravan.yaml, built into the library. Another file with the same keys may
// take its place; its loader checks bounds, so reading a checked message cannot fail on anything but decimals
// and quantities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "caravan/v1alpha1/profile.pb.h"
#include "common/result.h"

namespace caravan::planner {

// Bytes that an engine keeps of one token; see profile.proto.
struct ActivationCoefficients {
  double replicated = 0;       // of a layer, by hidden element; divided by tensor with sequence parallelism
  double hidden = 0;           // of a layer, by hidden element; divided by tensor
  double ffn = 0;              // of a layer, by element of the feed-forward layer; divided by tensor
  double scores = 0;           // of a layer, by head and token of the sequence; divided by tensor
  double logits = 0;           // by entry of the vocabulary
  double gathered_logits = 0;  // with tensor parallelism; divided by tensor
  bool logits_sharded = true;
};

enum class StageSplit { Even, Balanced, Filled };

struct EngineProfile {
  std::string name;
  StageSplit stage_split = StageSplit::Balanced;
  int max_virtual_stages = 1;
  int max_zero_stage = 1;
  // Absent: what our own trainer does (planner/work/blocks.h).
  std::optional<ActivationCoefficients> activations;
  int gradient_bytes = 0;
  int gradient_wire_bytes = 0;  // between data parallel ranks
  int master_bytes = 0;         // of the copy that stands beside bf16 storage
  int moment_bytes = 0;         // of both moments, in FP32
  int64_t gpu_context_bytes = 0;
  int64_t gpu_communication_group_bytes = 0;
  double gpu_fragmentation = 0;
  double memory_margin = 0;
  double gemm_efficiency = 1;  // of what the device's large products reach
  double gemm_half_size = 0;
  double attention_efficiency = 1;
  std::optional<double> segment_attention_efficiency;  // on GPUs, behind the first one; absent: the same
  double layer_memory_passes = 0;
  double layer_overhead_seconds = 0;
  double collective_latency_seconds = 0;
  double node_bandwidth_fraction = 1;
  double network_bandwidth_fraction = 1;
  bool split_transfers = false;  // a stage sends its activations in parts, one from each tensor rank
  double data_overlap = 0;
  double overrule_gain = 0;
  // Of predictions, as parts; absent where nobody measured them (measured_error.h).
  std::optional<double> step_time_error;  // mean absolute, on GPUs
  std::optional<double> memory_error;     // standard deviation, on GPUs
  std::string measured_product;           // of those GPUs; empty: any
  int measured_devices = 0;               // of a job, at most; 0: any
  std::optional<double> cpu_memory_error;
};

Result<EngineProfile> read_engine_profile(const v1alpha1::EngineProfile& message);

EngineProfile default_engine_profile();

}  // namespace caravan::planner
