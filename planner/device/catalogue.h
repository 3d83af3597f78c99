// GPU products that the planner knows: memory, speed, links, and how their vendor builds nodes of them.
//
// Products of a user's own file (own_devices.h) come before the built-in ones. Nothing is guessed: a product
// that neither names is not found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::planner {

struct DeviceProduct {
  std::string name;                // as jobs write it, such as H100-80GB
  std::string resource_name = {};  // what Kubernetes counts its vendor's devices by; empty: nobody says
  int64_t memory_bytes = 0;        // all that the runtime reports
  double peak_flops = 0;           // dense bf16, FLOP/s: what MFU is a part of
  double matrix_flops = 0;         // what large bf16 matrix products reach
  double fp32_flops = 0;           // of fp32 products, which take no tensor cores
  double memory_bandwidth = 0;     // bytes/s
  double node_bandwidth = 0;       // bytes/s to other devices of the link domain, one direction
  double network_bandwidth = 0;    // bytes/s of one device to other nodes, one direction
  int devices_per_node = 8;
  int link_domain = 8;  // devices joined by node_bandwidth; more than a node where racks have a switch
  std::vector<std::string> labels = {};  // other spellings, those of node labels among them

  bool has_rack_switch() const { return link_domain > devices_per_node; }
};

// By name, or by the value of the node labels nvidia.com/gpu.product and amd.com/gpu.product-name, such as
// NVIDIA-H100-80GB-HBM3; case does not matter.
std::optional<DeviceProduct> find_device(std::string_view product,
                                         const std::vector<DeviceProduct>& own = {});

// The built-in products left out: for CPUs, of which none is built in.
std::optional<DeviceProduct> find_among(const std::vector<DeviceProduct>& products, std::string_view product);

// Each once, the user's own first.
std::vector<std::string> device_names(const std::vector<DeviceProduct>& own = {});

}  // namespace caravan::planner
