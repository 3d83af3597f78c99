#include "worker/agent/gpu_monitor.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace caravan::agent {
namespace {

// NVML's interface as far as it is used here, which it promises to keep (nvml.h of CUDA 11 and later).
using Device = struct nvmlDevice_st*;
constexpr int kSuccess = 0;
constexpr int kProcessorClock = 1;  // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;     // NVML_CLOCK_MEM
constexpr int kProcessorTemperature = 0;
constexpr unsigned kLongestName = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

struct Closer {
  void operator()(void* handle) const { dlclose(handle); }
};

// Of a function that a driver may not have and a device may not answer.
template <typename Number, typename Function, typename... Arguments>
std::optional<Number> told(Function* function, Arguments... arguments) {
  Number value{};
  if (function == nullptr || function(arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<double> scaled(std::optional<unsigned> value, double unit) {
  return value ? std::optional<double>(*value * unit) : std::nullopt;
}

}  // namespace

const std::vector<ThrottleReason>& throttle_reasons() {
  static const std::vector<ThrottleReason> kReasons = {
      {0x4, "power_cap"}, {0x8, "hardware_slowdown"}, {0x10, "sync_boost"},
      {0x20, "thermal"},  {0x40, "hardware_thermal"}, {0x80, "power_brake"},
  };
  return kReasons;
}

struct GpuMonitor::Library {
  std::unique_ptr<void, Closer> handle;
  std::mutex mutex;
  bool begun = false;
  int (*begin)() = nullptr;
  int (*end)() = nullptr;
  const char* (*words)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  // Null where the driver does not have them.
  int (*clock)(Device, int, unsigned*) = nullptr;        // MHz
  int (*power)(Device, unsigned*) = nullptr;             // mW
  int (*power_limit)(Device, unsigned*) = nullptr;       // mW
  int (*temperature)(Device, int, unsigned*) = nullptr;  // °C
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;

  ~Library() {
    if (begun) end();
  }

  template <typename Function>
  bool look_for(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle.get(), name));
    return function != nullptr;
  }

  template <typename Function>
  Status find(const char* name, Function& function) {
    if (!look_for(name, function)) return failure(fmt::format("it has no function {}", name));
    return {};
  }

  Status find_all() {
    look_for("nvmlDeviceGetClockInfo", clock);
    look_for("nvmlDeviceGetPowerUsage", power);
    look_for("nvmlDeviceGetEnforcedPowerLimit", power_limit);
    look_for("nvmlDeviceGetTemperature", temperature);
    look_for("nvmlDeviceGetCurrentClocksThrottleReasons", reasons);
    look_for("nvmlDeviceGetUUID", name);
    return find("nvmlInit_v2", begin)
        .and_then([&] { return find("nvmlShutdown", end); })
        .and_then([&] { return find("nvmlErrorString", words); })
        .and_then([&] { return find("nvmlDeviceGetCount_v2", count); })
        .and_then([&] { return find("nvmlDeviceGetHandleByIndex_v2", device); });
  }

  std::string name_of(Device gpu) const {
    std::array<char, kLongestName> text{};
    if (name == nullptr || name(gpu, text.data(), kLongestName) != kSuccess) return "";
    return text.data();
  }

  // By its number, or by the first characters of its name. Of which GPU a part (MIG) is, the driver tells in
  // another way: all are.
  bool is_among(const std::vector<std::string>& visible, unsigned index, Device gpu) const {
    return std::ranges::any_of(visible, [&](const std::string& each) {
      if (each.starts_with("MIG-")) return true;
      return each.starts_with("GPU-") ? name_of(gpu).starts_with(each) : each == std::to_string(index);
    });
  }

  GpuState state_of(unsigned index, Device gpu) const {
    return {.index = index,
            .processor_clock_hertz = scaled(told<unsigned>(clock, gpu, kProcessorClock), 1e6),
            .memory_clock_hertz = scaled(told<unsigned>(clock, gpu, kMemoryClock), 1e6),
            .power_watts = scaled(told<unsigned>(power, gpu), 1e-3),
            .power_limit_watts = scaled(told<unsigned>(power_limit, gpu), 1e-3),
            .temperature_celsius = scaled(told<unsigned>(temperature, gpu, kProcessorTemperature), 1),
            .throttle_reasons = told<unsigned long long>(reasons, gpu)};
  }
};

GpuMonitor::GpuMonitor(std::unique_ptr<Library> library, std::optional<std::vector<std::string>> visible)
    : library_(std::move(library)), visible_(std::move(visible)) {}
GpuMonitor::GpuMonitor(GpuMonitor&&) noexcept = default;
GpuMonitor::~GpuMonitor() = default;

Result<GpuMonitor> GpuMonitor::open(const std::string& path,
                                    std::optional<std::vector<std::string>> visible) {
  auto library = std::make_unique<Library>();
  library->handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library->handle) return failure(fmt::format("{} cannot be opened: {}", path, dlerror()));
  if (const Status found = library->find_all(); !found)
    return failure(fmt::format("{}: {}", path, found.error().message));
  if (const int error = library->begin(); error != kSuccess)
    return failure(fmt::format("{}: {}", path, library->words(error)));
  library->begun = true;
  return GpuMonitor(std::move(library), std::move(visible));
}

std::vector<GpuState> GpuMonitor::read() {
  const std::scoped_lock lock(library_->mutex);
  std::vector<GpuState> states;
  const unsigned count = told<unsigned>(library_->count).value_or(0);
  for (unsigned index = 0; index < count; ++index) {
    const auto gpu = told<Device>(library_->device, index);
    if (!gpu || (visible_ && !library_->is_among(*visible_, index, *gpu))) continue;
    states.push_back(library_->state_of(index, *gpu));
  }
  return states;
}

}  // namespace caravan::agent
