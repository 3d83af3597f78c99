// The library for GPUs (plugin.h): one CUDA device, with the kernels of worker/trainer/cuda, LibTorch's
// products and attention, and its caching allocator.
#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "worker/trainer/comm/nccl/nccl_groups.h"
#include "worker/trainer/comm/overlap_wish.h"
#include "worker/trainer/device/cuda/library_attention.h"
#include "worker/trainer/device/cuda/own_kernels.h"
#include "worker/trainer/device/cuda/stream.h"
#include "worker/trainer/device/cuda/stream_marks.h"
#include "worker/trainer/device/plugin.h"

namespace caravan::kernels::gpu {

cuda::Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream();
}

namespace {

void product(const at::Tensor& a, const at::Tensor& b, at::Tensor& result) {
  at::mm_out(result, a, b);
}

// With beta 1 into the main gradient, which cuBLAS keeps in fp32 for factors of bf16.
void add_weight_gradient(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  if (dw_OI.scalar_type() == x_TI.scalar_type()) {
    dw_OI.addmm_(dy_TO.t(), x_TI);
  } else {
    at::addmm_out(dw_OI, dw_OI, dy_TO.t(), x_TI, dw_OI.scalar_type());
  }
}

// Of CUDA itself, which takes no more than is asked for; LibTorch's allocator rounds up to a power of two.
at::Tensor zeros_on_host(int64_t elements, at::ScalarType type) {
  if (elements == 0) return at::zeros({0}, type);
  const std::size_t bytes = static_cast<std::size_t>(elements) * c10::elementSize(type);
  void* room = nullptr;
  const cudaError_t error = cudaHostAlloc(&room, bytes, cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    // Not of the device, whose memory the plan counts.
    throw std::system_error(
        std::make_error_code(std::errc::not_enough_memory),
        "locking " + std::to_string(bytes) + " bytes of the host's memory, for copies of what is on a GPU");
  }
  C10_CUDA_CHECK(error);
  const auto give_back = [](void* memory) { (void)cudaFreeHost(memory); };
  return at::from_blob(room, {elements}, give_back, at::dtype(type)).zero_();
}

KernelTable table_with(const AttentionKernels& attention) {
  KernelTable table = own_kernels("CUDA");
  table.attention_forward = attention.forward;
  table.attention_backward = attention.backward;
  table.product = product;
  table.add_weight_gradient = add_weight_gradient;
  table.zeros_on_host = zeros_on_host;
  return table;
}

}  // namespace
}  // namespace caravan::kernels::gpu

namespace caravan::trainer {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// The caching allocator tells of every block to whom it was once told of, for ever.
std::atomic<AllocationListener*> listener = nullptr;

void tell_listener(const c10::CachingDeviceAllocator::TraceEntry& entry) {
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  AllocationListener* const hears = listener;
  if (hears == nullptr) return;
  if (entry.action_ == Entry::ALLOC) hears->allocated(entry.addr_, static_cast<int64_t>(entry.size_));
  if (entry.action_ == Entry::FREE_REQUESTED) hears->freed(entry.addr_);
  if (entry.action_ == Entry::OOM) hears->refused(static_cast<int64_t>(entry.size_));
}

class CudaAllocations final : public AllocationCount {
 public:
  explicit CudaAllocations(std::unique_ptr<AllocationListener> tally) : tally_(std::move(tally)) {
    listener = tally_.get();
  }
  ~CudaAllocations() override { listener = nullptr; }

 private:
  const std::unique_ptr<AllocationListener> tally_;
};

int64_t current(const auto& statistic) {
  return statistic[0].current;  // of small and large blocks together
}
int64_t peak(const auto& statistic) {
  return statistic[0].peak;
}

class CudaBackend final : public DeviceBackend {
 public:
  CudaBackend(at::Device device, std::string name, const kernels::gpu::AttentionKernels& attention,
              const HostServices& services)
      : device_(device),
        description_(std::move(name) + "; " + attention.description),
        kernels_(kernels::gpu::table_with(attention)),
        services_(services) {}

  at::Device device() const override { return device_; }
  const kernels::KernelTable& kernels() const override { return kernels_; }
  std::string description() const override { return description_; }

  Result<GroupFactory> groups(const RendezvousOptions& options, GiveUp give_up) const override {
    const Result<bool> overlaps = wants_overlap(/*otherwise=*/true);
    if (!overlaps) return tl::unexpected(overlaps.error());
    Result<GroupFactory> hosts = services_.groups_of_hosts(options);
    if (!hosts) return hosts;
    return nccl_groups({.rendezvous = options,
                        .device = device_,
                        .hosts = *std::move(hosts),
                        .give_up = std::move(give_up),
                        .overlaps = *overlaps});
  }

  std::unique_ptr<DeviceMarks> marks() const override { return stream_marks(); }

  std::unique_ptr<AllocationCount> count_allocations(MemoryCounter& counter) const override {
    return std::make_unique<CudaAllocations>(services_.tally(counter));
  }

  std::optional<DeviceMemory> memory() const override {
    const auto statistics = allocator::getDeviceStats(device_.index());
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) (void)cudaGetLastError();
    return DeviceMemory{.reserved = current(statistics.reserved_bytes),
                        .peak_reserved = peak(statistics.reserved_bytes),
                        .free = static_cast<int64_t>(free),
                        .total = static_cast<int64_t>(total)};
  }

 private:
  const at::Device device_;
  const std::string description_;
  const kernels::KernelTable kernels_;
  const HostServices services_;
};

tl::unexpected<Error> no_gpu(const std::string& why) {
  return failure("spec.resources.device.kind is GPU, but " + why);
}

// Or why there is none, in CUDA's words and ours.
Result<at::Device> find_device(int local_rank) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return no_gpu(std::string("CUDA finds no device on this machine (") + cudaGetErrorString(error) +
                  "); run the job where there is a GPU with NVIDIA's driver for CUDA 13, or set kind: CPU");
  }
  if (local_rank >= devices)
    return no_gpu("local rank " + std::to_string(local_rank) + " has none: CUDA finds " +
                  std::to_string(devices) +
                  " on this machine; lower spec.resources.devicesPerNode, or look at CUDA_VISIBLE_DEVICES");
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(local_rank));
}

std::string name_of(at::Device device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device.index()) != cudaSuccess) return "a GPU";
  return properties.name;
}

Result<std::unique_ptr<DeviceBackend>> open_device(const DeviceRequest& request,
                                                   const HostServices& services) {
  const Result<std::string> attention_wish = kernels::gpu::wished_attention();
  if (!attention_wish) return tl::unexpected(attention_wish.error());
  prepare_environment_for_nccl();
  // So that products, too, add in the same order every time; cuBLAS reads it once, when it first starts.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  const Result<at::Device> device = find_device(request.local_rank);
  if (!device) return tl::unexpected(device.error());
  at::globalContext().lazyInitDevice(at::kCUDA);
  c10::cuda::set_device(device->index());
  static std::once_flag told;
  std::call_once(told, [] { allocator::attachAllocatorTraceTracker(tell_listener); });
  const auto attention =
      kernels::gpu::choose_attention(*attention_wish, request.attention, request.storage, *device);
  return std::make_unique<CudaBackend>(*device, name_of(*device), attention, services);
}

}  // namespace
}  // namespace caravan::trainer

extern "C" {

__attribute__((visibility("default"))) const char* caravan_device_plugin_version() {
  return CARAVAN_VERSION;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written
__attribute__((visibility("default"))) void caravan_open_device(
    const caravan::trainer::DeviceRequest& request, const caravan::trainer::HostServices& services,
    caravan::Result<std::unique_ptr<caravan::trainer::DeviceBackend>>& opened) {
  try {
    opened = caravan::trainer::open_device(request, services);
  } catch (const std::exception& error) {
    opened = caravan::failure(std::string("the GPU cannot be used: ") + error.what());
  }
}
}
