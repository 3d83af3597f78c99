// The labels with which vendors' programs say what GPUs a node has, by the extended resource that pods ask
// for.
//
// NVIDIA: GPU feature discovery. AMD: the node labeller of its device plugin and GPU operator, which says
// memory in whole GiB, rounded to the nearest ("192G" is 191.7 GiB).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::controller {

struct DeviceLabels {
  const char* product;
  const char* memory;  // of one device
  // What the value of that label says at least; nothing when it says no size.
  std::optional<std::int64_t> (*memory_bytes)(const std::string& value);
};

// Whether an extended resource is whole GPUs, of any vendor.
bool is_gpu(std::string_view resource_name);

// NVIDIA's for a resource of any other vendor: pods can then not be told apart by product.
const DeviceLabels& labels_of(const std::string& resource_name);

}  // namespace caravan::controller
