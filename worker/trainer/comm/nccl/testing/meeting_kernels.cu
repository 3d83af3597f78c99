#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "worker/trainer/comm/nccl/testing/meeting_kernels.h"

namespace caravan::trainer {
namespace {

struct Meeting {
  unsigned come;
  unsigned met;
};

__device__ unsigned long long nanoseconds_now() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void meet(Meeting* meeting, unsigned all, unsigned long long patience) {
  const unsigned long long end = nanoseconds_now() + patience;
  atomicAdd(&meeting->come, 1U);
  while (atomicAdd(&meeting->come, 0U) < all) {
    if (nanoseconds_now() > end) return;
  }
  atomicAdd(&meeting->met, 1U);
}

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace

int count_that_meet(const std::vector<void*>& streams, std::chrono::nanoseconds patience) {
  Meeting* meeting = nullptr;
  require(cudaMalloc(&meeting, sizeof(Meeting)));
  require(cudaMemset(meeting, 0, sizeof(Meeting)));
  require(cudaDeviceSynchronize());
  const auto all = static_cast<unsigned>(streams.size());
  for (void* const stream : streams) {
    meet<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(meeting, all,
                                                         static_cast<unsigned long long>(patience.count()));
    require(cudaGetLastError());
  }
  Meeting end{};
  require(cudaDeviceSynchronize());
  require(cudaMemcpy(&end, meeting, sizeof(Meeting), cudaMemcpyDeviceToHost));
  require(cudaFree(meeting));
  return static_cast<int>(end.met);
}

}  // namespace caravan::trainer
