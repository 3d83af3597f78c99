#include "worker/trainer/kernels/random_normal.h"

#include <ATen/Parallel.h>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/normal_block.h"
#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {
// FNV-1a of the name, started from the seed.
uint64_t random_key(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325 ^ (seed * 0x9E3779B97F4A7C15);
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return hash;
}

void cpu::fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation) {
  constexpr int64_t kElementsPerTask = 1 << 12;
  for_storage_type(values.scalar_type(), [&]<typename T>() {
    T* const to = values.mutable_data_ptr<T>();
    at::parallel_for(0, values.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      NormalBlock<double> normal{};
      for (int64_t i = begin; i < end; ++i) {
        const auto index = static_cast<uint64_t>(first_index + i);
        if (i == begin || index % kNormals == 0) normal = normal_block(key, index / kNormals);
        to[i] = static_cast<T>(static_cast<Wide<T>>(normal.item[index % kNormals] * standard_deviation));
      }
    });
  });
}

}  // namespace caravan::kernels
