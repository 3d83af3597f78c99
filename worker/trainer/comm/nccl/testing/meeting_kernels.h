// Kernels that wait for each other, each on a stream of its own, as those of NCCL do on two devices.
#pragma once

#include <chrono>
#include <vector>

namespace caravan::trainer {

// One kernel on each of these streams of the current device (cudaStream_t). Returns how many of them saw all
// others under way; none waits longer than so. Throws where CUDA fails.
int count_that_meet(const std::vector<void*>& streams, std::chrono::nanoseconds patience);

}  // namespace caravan::trainer
