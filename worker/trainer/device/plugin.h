// What the trainer and the library for GPUs know of each other. Both are built from the same sources; the
// library has none of the trainer's code within it but what these headers hold, since whatever keeps
// something for a thread or the process would be there twice.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "common/result.h"
#include "worker/trainer/device/backend.h"
#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/memory/allocation_tally.h"

namespace caravan::trainer {

// What a rank wants of its device.
struct DeviceRequest {
  int local_rank = 0;  // the device's index on its node
  at::ScalarType storage = at::kBFloat16;
  kernels::AttentionShape attention;  // of one rank, one sequence
};

// What the library has the trainer do.
struct HostServices {
  std::unique_ptr<AllocationListener> (*tally)(MemoryCounter& counter);
  Result<GroupFactory> (*groups_of_hosts)(const RendezvousOptions& options);
};

inline constexpr const char* kPluginFile = "libcaravan_device_cuda.so";
// const char*(): the version it was built with. To be asked before anything else.
inline constexpr const char* kPluginVersion = "caravan_device_plugin_version";
inline constexpr const char* kOpenDevice = "caravan_open_device";

using PluginVersion = const char* (*)();
using OpenDevice = void (*)(const DeviceRequest& request, const HostServices& services,
                            Result<std::unique_ptr<DeviceBackend>>& opened);

}  // namespace caravan::trainer
