// Where the kernels of this room are launched, chosen by what is linked: the library for GPUs has LibTorch's
// current stream, the emulation none.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::kernels::gpu {

cuda::Stream current_stream();

}  // namespace caravan::kernels::gpu
