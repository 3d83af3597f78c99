// Processors: the kernels of kernels/, groups over Gloo and shared memory, and memory that is counted to the
// byte.
#pragma once

#include "worker/trainer/device/backend.h"

namespace caravan::trainer {

std::unique_ptr<DeviceBackend> cpu_backend();

}  // namespace caravan::trainer
