#include "planner/measured_error.h"

namespace caravan::planner {
namespace {

bool was_measured_on(const DevicePool& devices, const EngineProfile& profile,
                     const TrainingNumbers& training) {
  const bool is_the_product =
      profile.measured_product.empty() || (devices.known && devices.known->name == profile.measured_product);
  return training.bf16 && is_the_product &&
         (profile.measured_devices == 0 || devices.count <= profile.measured_devices);
}

}  // namespace

std::optional<double> memory_error(const DevicePool& devices, const EngineProfile& profile,
                                   const TrainingNumbers& training) {
  if (!devices.gpu) return profile.cpu_memory_error;
  return was_measured_on(devices, profile, training) ? profile.memory_error : std::nullopt;
}

std::optional<double> step_time_error(const DevicePool& devices, const EngineProfile& profile,
                                      const TrainingNumbers& training) {
  return devices.gpu && was_measured_on(devices, profile, training) ? profile.step_time_error : std::nullopt;
}

}  // namespace caravan::planner
