// The device of this machine, opened as a rank opens it, before any test has asked LibTorch for a device.
#pragma once

#include "common/result.h"
#include "worker/trainer/device/backend.h"

namespace caravan::trainer {

// storage: fp32 or bf16.
const Result<std::unique_ptr<DeviceBackend>>& opened_gpu(at::ScalarType storage);

}  // namespace caravan::trainer
