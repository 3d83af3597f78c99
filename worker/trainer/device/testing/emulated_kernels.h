// The table of kernels that a GPU has, on tensors of the host: the same wrappers, around kernels that are
// emulated, with attention by its formula and products of the CPU in the place of the libraries'. One launch
// at a time in a process, so for one thread.
#pragma once

#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels::gpu {

const KernelTable& emulated_kernels();

}  // namespace caravan::kernels::gpu
