// A volume as it is, which counts what it has done: whoever waits for long work in it, on another thread,
// sees whether the work gets on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "checkpoint/folder/volume.h"

namespace caravan::checkpoint {

// done: operations that ended well; outlives the volume and its files.
std::unique_ptr<Volume> counted(std::unique_ptr<Volume> volume, std::atomic<int64_t>& done);

}  // namespace caravan::checkpoint
