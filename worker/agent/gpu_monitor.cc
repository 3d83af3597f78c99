#include "worker/agent/gpu_monitor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
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
  void* handle = nullptr;  // never closed: its shutdown asks the driver, which may hang
  std::optional<std::vector<std::string>> visible;
  std::optional<bool> has_driver;  // once it was asked
  int (*begin)() = nullptr;
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

  std::mutex mutex;
  std::condition_variable changed;
  bool is_being_read = false;
  std::vector<GpuState> states;  // as read last
  Clock::time_point read_at{};   // they

  template <typename Function>
  bool look_for(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
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
  bool is_visible(unsigned index, Device gpu) const {
    return !visible || std::ranges::any_of(*visible, [&](const std::string& each) {
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

  // False: there is no driver, which is said once.
  bool begin_once() {
    if (has_driver) return *has_driver;
    const int error = begin();
    if (error != kSuccess) spdlog::info("the driver of GPUs tells nothing: {}", words(error));
    has_driver = error == kSuccess;
    return *has_driver;
  }

  std::vector<GpuState> state_of_all() {
    std::vector<GpuState> all;
    if (!begin_once()) return all;
    const unsigned gpus = told<unsigned>(count).value_or(0);
    for (unsigned index = 0; index < gpus; ++index) {
      const auto gpu = told<Device>(device, index);
      if (gpu && is_visible(index, *gpu)) all.push_back(state_of(index, *gpu));
    }
    return all;
  }

  void read() {
    std::vector<GpuState> all = state_of_all();
    const std::scoped_lock lock(mutex);
    states = std::move(all);
    read_at = Clock::now();
    is_being_read = false;
    changed.notify_all();
  }
};

GpuMonitor::GpuMonitor(std::shared_ptr<Library> library, std::chrono::milliseconds patience)
    : library_(std::move(library)), patience_(patience) {}
GpuMonitor::GpuMonitor(GpuMonitor&&) noexcept = default;
GpuMonitor::~GpuMonitor() = default;

Result<GpuMonitor> GpuMonitor::open(const std::string& path, std::optional<std::vector<std::string>> visible,
                                    std::chrono::milliseconds patience) {
  const auto library = std::make_shared<Library>();
  library->visible = std::move(visible);
  library->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return failure(fmt::format("{} cannot be opened: {}", path, dlerror()));
  if (const Status found = library->find_all(); !found)
    return failure(fmt::format("{}: {}", path, found.error().message));
  return GpuMonitor(library, patience);
}

std::vector<GpuState> GpuMonitor::read(Clock::time_point now) {
  std::unique_lock lock(library_->mutex);
  if (!library_->is_being_read) {
    try {
      std::thread([library = library_] { library->read(); }).detach();
      library_->is_being_read = true;
    } catch (const std::system_error&) {
      // No thread is left: as with a driver that does not answer.
    }
    library_->changed.wait_for(lock, patience_, [this] { return !library_->is_being_read; });
  }
  return now - library_->read_at < kFresh ? library_->states : std::vector<GpuState>();
}

}  // namespace caravan::agent
