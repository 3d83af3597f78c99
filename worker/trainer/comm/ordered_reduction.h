// Sums and maxima of what several ranks have of the same elements, in a fixed order.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <span>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// target[i] = sources[0][i] + sources[1][i] + ..., or the largest of them, of elements of that type; bf16 is
// added in fp32 and rounded once. target may be one of the sources. Takes the threads of the rank where there
// is much to do, allocates nothing. A NaN anywhere is the largest.
void reduce_in_order(Reduction reduction, at::ScalarType type, void* target,
                     std::span<const void* const> sources, int64_t elements);

}  // namespace caravan::trainer
