// Marks on the stream of a GPU on which the calling thread works: CUDA's events, used again when nobody holds
// them.
#pragma once

#include <memory>

#include "worker/trainer/trace/device_marks.h"

namespace caravan::trainer {

std::unique_ptr<DeviceMarks> stream_marks();

}  // namespace caravan::trainer
