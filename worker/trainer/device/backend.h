// The kind of device that a rank trains on, and all that the trainer knows of it. Nothing else of the trainer
// asks where a tensor lies: kernels are found by their tensors (kernels/kernel_table.h), what the host must
// see is copied by kernels/host_copy.h, and groups and memory are this one's.
//
// Processors are always there. GPUs are in a library of their own, opened by name before anything asks
// LibTorch for one (open_backend.h), so that a worker for processors needs none of NVIDIA's libraries.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/rendezvous_options.h"
#include "worker/trainer/kernels/kernel_table.h"
#include "worker/trainer/memory/counting_allocator.h"
#include "worker/trainer/trace/device_marks.h"

namespace caravan::trainer {

// Allocations of tensors on the device are counted while it lives. Memory may outlive it, never its counter.
class AllocationCount {
 public:
  virtual ~AllocationCount() = default;
};

// What the device's allocator holds, in bytes: more than tensors ask for, since it rounds up and keeps what
// they give back.
struct DeviceMemory {
  int64_t reserved = 0;
  int64_t peak_reserved = 0;
  int64_t free = 0;  // of the device, left by all that use it
  int64_t total = 0;
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  virtual at::Device device() const = 0;
  virtual const kernels::KernelTable& kernels() const = 0;
  // What it is and what was chosen among several ways, for the log of the job; empty: nothing to say.
  virtual std::string description() const = 0;

  // Groups take tensors of the device, and tensors of the host, in which ranks agree. Groups go before the
  // factory. An environment that wants groups of another kind than there are is bad input.
  // give_up: called from another thread when the groups are lost and the one that trains, whose next call
  // throws, has not ended the process within some seconds; it may be stuck where nothing can wake it.
  using GiveUp = std::function<void(const std::string& why)>;
  virtual Result<GroupFactory> groups(const RendezvousOptions& options, GiveUp give_up) const = 0;

  // On the stream of the thread that calls; none where the host does the work itself.
  virtual std::unique_ptr<DeviceMarks> marks() const = 0;

  // Charges what is allocated to the scope's counter (CountTo), or to this one. One at a time.
  virtual std::unique_ptr<AllocationCount> count_allocations(MemoryCounter& counter) const = 0;
  // Absent where tensors lie in the memory of the process.
  virtual std::optional<DeviceMemory> memory() const = 0;
};

}  // namespace caravan::trainer
