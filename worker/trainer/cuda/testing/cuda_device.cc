#include <cuda_runtime_api.h>
#include <unistd.h>

#include <stdexcept>

#include "worker/trainer/cuda/testing/device.h"

namespace caravan::cuda::testing {
namespace {

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace

std::optional<std::string> missing_device() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  const bool has_driver = access("/dev/nvidiactl", F_OK) == 0;
  const bool has_none = error == cudaErrorNoDevice || (error == cudaErrorInsufficientDriver && !has_driver);
  if (has_none) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  require(error);  // a driver that fails is no reason to skip
  if (devices == 0) return "no CUDA device: the driver has none";
  return std::nullopt;
}

void* device_allocate(std::size_t bytes) {
  void* start = nullptr;
  require(cudaMalloc(&start, bytes == 0 ? 1 : bytes));
  require(cudaMemset(start, 0xff, bytes));
  return start;
}

void device_free(void* start) {
  cudaFree(start);
}

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  require(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

void copy_from_device(void* to, const void* from, std::size_t bytes) {
  require(cudaDeviceSynchronize());
  require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

int thread_orders() {
  return 2;
}
void set_thread_order(int) {}

}  // namespace caravan::cuda::testing
