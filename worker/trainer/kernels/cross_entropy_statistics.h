// What is known of each token of a chunk while its cross entropy is made; for processors and for CUDA
// devices.
#pragma once

#include <cstdint>

namespace caravan::kernels {

// Rows of the statistics. kTarget: the target's logit less the maximum, on the rank that holds it, else zero.
enum CrossEntropyStatistic : std::int64_t { kMaximum, kSum, kTarget, kStatistics };

}  // namespace caravan::kernels
