// A driver's management library with two GPUs, of which the second tells little and the third is lost: what
// GpuMonitor's tests open in the place of NVIDIA's. Environment MANAGEMENT_LIBRARY_FAILS: it finds no driver.
// MANAGEMENT_LIBRARY_HANGS_WITH: it hangs as long as there is that file. Compiled with
// TELLS_TEMPERATURE_ALONE it has none of the other functions that tell of a device.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kSuccess = 0;
[[maybe_unused]] constexpr int kNotSupported = 3;
constexpr int kDriverNotLoaded = 9;
constexpr int kGpuIsLost = 15;

int whole[2] = {0, 1};  // devices are their addresses
bool is_first(const void* device) {
  return device == &whole[0];
}

[[maybe_unused]] int tell(const void* device, unsigned* value, unsigned what) {
  if (!is_first(device)) return kNotSupported;
  *value = what;
  return kSuccess;
}

void hang_if_told() {
  const char* const file = std::getenv("MANAGEMENT_LIBRARY_HANGS_WITH");
  while (file != nullptr && access(file, F_OK) == 0) usleep(1000);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  hang_if_told();
  return std::getenv("MANAGEMENT_LIBRARY_FAILS") == nullptr ? kSuccess : kDriverNotLoaded;
}
const char* nvmlErrorString(int error) {
  return error == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  hang_if_told();
  *count = 3;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return kGpuIsLost;
  *device = &whole[index];
  return kSuccess;
}
#ifndef TELLS_TEMPERATURE_ALONE
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* megahertz) {
  return tell(device, megahertz, which == 1 ? 1755 : 2619);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return tell(device, milliwatts, 698'500);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return tell(device, milliwatts, 700'000);
}
#endif
int nvmlDeviceGetTemperature(void*, int which, unsigned* celsius) {
  *celsius = which == 0 ? 61 : 0;
  return kSuccess;
}
#ifndef TELLS_TEMPERATURE_ALONE
int nvmlDeviceGetUUID(void* device, char* name, unsigned size) {
  std::snprintf(name, size, "%s", is_first(device) ? "GPU-8932f937-d72c" : "GPU-0a1b2c3d-4e5f");
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  if (!is_first(device)) return kNotSupported;
  *reasons = 0x4;
  return kSuccess;
}
#endif
}
