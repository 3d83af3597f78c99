#include "worker/trainer/device/cuda/own_kernels.h"
#include "worker/trainer/device/cuda/plain_attention.h"
#include "worker/trainer/device/cuda/stream.h"
#include "worker/trainer/device/testing/gpu.h"

namespace caravan::kernels::gpu {

cuda::Stream current_stream() {
  return nullptr;
}

namespace {

KernelTable emulated_kernels() {
  KernelTable made = own_kernels("CUDA, emulated");
  made.attention_forward = plain_attention_forward;
  made.attention_backward = plain_attention_backward;
  made.product = cpu_kernels().product;
  made.add_weight_gradient = cpu_kernels().add_weight_gradient;
  made.zeros_on_host = cpu_kernels().zeros_on_host;
  return made;
}

}  // namespace

const char* const kTestedGpu = "EmulatedGpu";

const TestedGpu& tested_gpu(at::ScalarType /*storage*/) {
  static const KernelTable table = emulated_kernels();
  static const TestedGpu gpu{.device = at::kCPU, .kernels = &table, .missing = {}};
  return gpu;
}

}  // namespace caravan::kernels::gpu
