// Opens the device that a job names.
#pragma once

#include <string>

#include "common/result.h"
#include "worker/trainer/device/backend.h"
#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

// To be called before LibTorch is asked anything: from its first question on, it knows no devices but those
// it knew then. GPUs come with a library that lies in ../lib beside the program. Errors say what of it, of
// the driver or of the device is missing. What the image or build lacks, and an environment that wants an
// attention that there is not, would fail on any machine: bad input.
Result<std::unique_ptr<DeviceBackend>> open_backend(const TrainerOptions& options);

// The same with the library in another folder.
Result<std::unique_ptr<DeviceBackend>> open_backend(const TrainerOptions& options,
                                                    const std::string& library_folder);

}  // namespace caravan::trainer
