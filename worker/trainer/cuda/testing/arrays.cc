#include "worker/trainer/cuda/testing/arrays.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>

namespace caravan::cuda::testing {
namespace {

constexpr unsigned char kUntouched = 0xa5;

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  const std::uint32_t half = 0x8000;
  const std::uint32_t rest = bits & 0xffff;
  const bool up = rest > half || (rest == half && (bits >> 16 & 1) != 0);
  return static_cast<std::uint16_t>((bits >> 16) + (up ? 1 : 0));
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace

std::string name_of(Storage storage) {
  return storage == Storage::Float32 ? "fp32" : "bf16";
}
std::size_t bytes_of(Storage storage) {
  return storage == Storage::Float32 ? 4 : 2;
}

float stored(Storage storage, float value) {
  return storage == Storage::Float32 ? value : from_bfloat16(to_bfloat16(value));
}

std::vector<float> random_values(Storage storage, std::int64_t count, std::uint32_t seed, float deviation,
                                 float mean) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(mean, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = stored(storage, distribution(random));
  return values;
}

StoredArray::StoredArray(Storage storage, std::int64_t count, int misaligned)
    : storage_(storage),
      count_(count),
      misaligned_(misaligned),
      start_(static_cast<unsigned char*>(
          device_allocate(static_cast<std::size_t>(count + misaligned) * bytes_of(storage)))) {
  const std::vector<unsigned char> before(static_cast<std::size_t>(misaligned) * bytes_of(storage),
                                          kUntouched);
  copy_to_device(start_, before.data(), before.size());
}

StoredArray::StoredArray(Storage storage, const std::vector<float>& values, int misaligned)
    : StoredArray(storage, static_cast<std::int64_t>(values.size()), misaligned) {
  if (storage == Storage::Float32) {
    copy_to_device(data(), values.data(), values.size() * sizeof(float));
    return;
  }
  std::vector<std::uint16_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), to_bfloat16);
  copy_to_device(data(), bits.data(), bits.size() * sizeof(std::uint16_t));
}

StoredArray::~StoredArray() {
  device_free(start_);
}

void* StoredArray::data() const {
  return start_ + static_cast<std::size_t>(misaligned_) * bytes_of(storage_);
}

std::vector<float> StoredArray::values() const {
  std::vector<unsigned char> before(static_cast<std::size_t>(misaligned_) * bytes_of(storage_));
  copy_from_device(before.data(), start_, before.size());
  for (const unsigned char byte : before)
    if (byte != kUntouched) throw std::runtime_error("a kernel wrote before the beginning of an array");
  std::vector<float> values(static_cast<std::size_t>(count_));
  if (storage_ == Storage::Float32) {
    copy_from_device(values.data(), data(), values.size() * sizeof(float));
    return values;
  }
  std::vector<std::uint16_t> bits(values.size());
  copy_from_device(bits.data(), data(), bits.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = from_bfloat16(bits[i]);
  return values;
}

}  // namespace caravan::cuda::testing
