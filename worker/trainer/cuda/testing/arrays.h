// Arrays in a device's memory, and random values for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/trainer/cuda/launch.h"
#include "worker/trainer/cuda/testing/device.h"

namespace caravan::cuda::testing {

std::string name_of(Storage storage);
std::size_t bytes_of(Storage storage);

// To the nearest bf16, of two that are as near to the even one: what a value is after it was stored.
float stored(Storage storage, float value);

// Independent normal numbers with this deviation, as stored.
std::vector<float> random_values(Storage storage, std::int64_t count, std::uint32_t seed, float deviation = 1,
                                 float mean = 0);

// Numbers of storage type. `misaligned` values come before the first, so that it does not begin at 16 bytes;
// they are checked to stay as they are.
class StoredArray {
 public:
  StoredArray(Storage storage, const std::vector<float>& values, int misaligned = 0);
  // Without values: NaN.
  StoredArray(Storage storage, std::int64_t count, int misaligned = 0);
  StoredArray(const StoredArray&) = delete;
  StoredArray& operator=(const StoredArray&) = delete;
  ~StoredArray();

  void* data() const;
  float* floats() const { return static_cast<float*>(data()); }  // of fp32
  std::vector<float> values() const;

 private:
  const Storage storage_;
  const std::int64_t count_;
  const int misaligned_;
  unsigned char* const start_;
};

// Values of any plain type.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values)
      : count_(values.size()), data_(static_cast<T*>(device_allocate(count_ * sizeof(T)))) {
    copy_to_device(data_, values.data(), count_ * sizeof(T));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { device_free(data_); }

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    copy_from_device(values.data(), data_, count_ * sizeof(T));
    return values;
  }

 private:
  const std::size_t count_;
  T* const data_;
};

}  // namespace caravan::cuda::testing
