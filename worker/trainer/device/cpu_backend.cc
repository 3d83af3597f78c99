#include "worker/trainer/device/cpu_backend.h"

#include "worker/trainer/comm/network_groups.h"

namespace caravan::trainer {
namespace {

class CpuAllocations final : public AllocationCount {
 public:
  explicit CpuAllocations(MemoryCounter& counter) : allocator_(counter) {}

 private:
  const CountingAllocator allocator_;
};

class CpuBackend final : public DeviceBackend {
 public:
  at::Device device() const override { return at::kCPU; }
  const kernels::KernelTable& kernels() const override { return kernels::cpu_kernels(); }
  std::string description() const override { return {}; }
  // A group over Gloo that has lost somebody wakes who waits by itself.
  Result<GroupFactory> groups(const RendezvousOptions& options, GiveUp /*give_up*/) const override {
    return network_groups(options);
  }
  std::unique_ptr<DeviceMarks> marks() const override { return nullptr; }
  std::unique_ptr<AllocationCount> count_allocations(MemoryCounter& counter) const override {
    return std::make_unique<CpuAllocations>(counter);
  }
  std::optional<DeviceMemory> memory() const override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<DeviceBackend> cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace caravan::trainer
