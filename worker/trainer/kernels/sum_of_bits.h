// The sum of a tensor's bits, by which two that must be the same are held against each other: of its bytes as
// words of 32 bits, modulo 2^64. Any difference in one word shows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace caravan::kernels {

// Contiguous. The last word counts as if zeros followed. Waits for the device.
uint64_t sum_of_bits(const at::Tensor& flat);

}  // namespace caravan::kernels
