#include "worker/trainer/kernels/random_normal.h"

#include <ATen/Parallel.h>

#include <array>
#include <cmath>
#include <numbers>

#include "worker/trainer/kernels/philox.h"
#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {
namespace {

// Two independent normal numbers from two uniform ones; the first is never zero, so that its logarithm is
// finite.
void box_muller(uint32_t a, uint32_t b, double* normal) {
  constexpr double kUnit = 0x1p-32;
  const double radius = std::sqrt(-2 * std::log((a + 1.0) * kUnit));
  const double angle = 2 * std::numbers::pi * (b * kUnit);
  normal[0] = radius * std::cos(angle);
  normal[1] = radius * std::sin(angle);
}

std::array<double, 4> normal_block(uint64_t key, uint64_t counter) {
  const RandomBlock random = philox(key, counter);
  std::array<double, 4> normal;
  box_muller(random.word[0], random.word[1], normal.data());
  box_muller(random.word[2], random.word[3], normal.data() + 2);
  return normal;
}

}  // namespace

// FNV-1a of the name, started from the seed.
uint64_t random_key(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325 ^ (seed * 0x9E3779B97F4A7C15);
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return hash;
}

void fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation) {
  constexpr int64_t kElementsPerTask = 1 << 12;
  for_storage_type(values.scalar_type(), [&]<typename T>() {
    T* const to = values.mutable_data_ptr<T>();
    at::parallel_for(0, values.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      std::array<double, 4> normal{};
      for (int64_t i = begin; i < end; ++i) {
        const auto index = static_cast<uint64_t>(first_index + i);
        if (i == begin || index % 4 == 0) normal = normal_block(key, index / 4);
        to[i] = static_cast<T>(static_cast<Wide<T>>(normal[index % 4] * standard_deviation));
      }
    });
  });
}

}  // namespace caravan::kernels
