// GPU products that the planner knows: memory, dense bf16 peak, links. Vendors' numbers; memory is what CUDA
// reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::planner {

struct DeviceProduct {
  std::string_view name;        // as jobs write it, such as H100-80GB
  int64_t memory_bytes = 0;     // all that CUDA reports
  double peak_flops = 0;        // dense bf16, FLOP/s
  double memory_bandwidth = 0;  // bytes/s
  double node_bandwidth = 0;    // bytes/s to other devices of the node, one direction
  double network_bandwidth =
      0;  // bytes/s of one device to other nodes, one direction, as its vendor builds nodes
  int devices_per_node = 8;
};

// By name, or by the value of the node label nvidia.com/gpu.product, such as NVIDIA-H100-80GB-HBM3; case does
// not matter.
std::optional<DeviceProduct> find_device(std::string_view product);

std::vector<std::string> device_names();

}  // namespace caravan::planner
