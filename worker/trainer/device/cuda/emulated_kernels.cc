#include "worker/trainer/device/testing/emulated_kernels.h"

#include "worker/trainer/device/cuda/own_kernels.h"
#include "worker/trainer/device/cuda/plain_attention.h"
#include "worker/trainer/device/cuda/stream.h"

namespace caravan::kernels::gpu {

cuda::Stream current_stream() {
  return nullptr;
}

const KernelTable& emulated_kernels() {
  static const KernelTable table = [] {
    KernelTable made = own_kernels("CUDA, emulated");
    made.attention_forward = plain_attention_forward;
    made.attention_backward = plain_attention_backward;
    made.product = cpu_kernels().product;
    made.add_weight_gradient = cpu_kernels().add_weight_gradient;
    return made;
  }();
  return table;
}

}  // namespace caravan::kernels::gpu
