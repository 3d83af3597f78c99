// What NVIDIA's driver tells of this machine's GPUs: clocks, power, temperature, and what keeps clocks down.
//
// Through the management library that comes with the driver (libnvidia-ml.so.1), opened where there is one:
// the agent is built without it and starts without it. What a driver or a device does not tell is absent. Any
// thread may read.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::agent {

struct GpuState {
  unsigned index = 0;  // as the driver counts
  std::optional<double> processor_clock_hertz = {};
  std::optional<double> memory_clock_hertz = {};
  std::optional<double> power_watts = {};
  std::optional<double> power_limit_watts = {};
  std::optional<double> temperature_celsius = {};
  // NVML's bits (nvmlClocksEventReason...).
  std::optional<unsigned long long> throttle_reasons = {};
};

// A reason for which clocks are lower than they could be.
struct ThrottleReason {
  unsigned long long bit;
  const char* name;  // label of the metric
};
// Of a device that works; one that idles, or whose clocks a person has set, is not among them.
const std::vector<ThrottleReason>& throttle_reasons();

class GpuMonitor {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // visible: of which GPUs alone (common/visible_gpus.h). Numbers are taken for the driver's, which CUDA's
  // are where all GPUs are alike, or with CUDA_DEVICE_ORDER=PCI_BUS_ID. Fails where the library, or a driver
  // that answers, is missing.
  static Result<GpuMonitor> open(const std::string& library = kLibrary,
                                 std::optional<std::vector<std::string>> visible = {});
  ~GpuMonitor();
  GpuMonitor(GpuMonitor&&) noexcept;
  GpuMonitor& operator=(GpuMonitor&&) = delete;

  std::vector<GpuState> read();

 private:
  struct Library;
  GpuMonitor(std::unique_ptr<Library> library, std::optional<std::vector<std::string>> visible);

  std::unique_ptr<Library> library_;
  std::optional<std::vector<std::string>> visible_;
};

}  // namespace caravan::agent
