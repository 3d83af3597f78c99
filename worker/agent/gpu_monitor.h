// What NVIDIA's driver tells of this machine's GPUs: clocks, power, temperature, and what keeps clocks down.
//
// Through the management library that comes with the driver (libnvidia-ml.so.1), opened where there is one:
// the agent is built without it and starts without it. What a driver or a device does not tell is absent. A
// thread of its own asks the driver, which may hang and hold it for ever: nobody waits long for it.
#pragma once

#include <chrono>
#include <memory>
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
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  static constexpr std::chrono::minutes kFresh{1};

  // visible: of which GPUs alone (common/visible_gpus.h). Numbers are taken for the driver's, which CUDA's
  // are where all GPUs are alike, or with CUDA_DEVICE_ORDER=PCI_BUS_ID. patience: with a driver. Fails where
  // the library is missing, or is another; of a driver that is missing the log tells at the first read.
  static Result<GpuMonitor> open(const std::string& library = kLibrary,
                                 std::optional<std::vector<std::string>> visible = {},
                                 std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~GpuMonitor();
  GpuMonitor(GpuMonitor&&) noexcept;
  GpuMonitor& operator=(GpuMonitor&&) = delete;

  // Where the driver does not answer in time, and at once while it has not: what it told last, or nothing
  // where that is no longer fresh.
  std::vector<GpuState> read(Clock::time_point now = Clock::now());

 private:
  struct Library;
  GpuMonitor(std::shared_ptr<Library> library, std::chrono::milliseconds patience);

  std::shared_ptr<Library> library_;  // with the thread
  std::chrono::milliseconds patience_;
};

}  // namespace caravan::agent
