// Normally distributed numbers that depend on a key and an index only: any part of a tensor can be filled by
// itself, in any order, and comes out the same. Philox 4x32-10 (Salmon et al., SC11) and the Box-Muller
// transform; no state, no memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace caravan::kernels {

// For one named tensor of one seed.
uint64_t random_key(uint64_t seed, std::string_view name);

// Elements first_index, first_index + 1, ... of the sequence of `key`, times the standard deviation.
// Contiguous. The same to a rounding on every kind of device.
void fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation);

}  // namespace caravan::kernels
