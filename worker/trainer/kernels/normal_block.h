// Normally distributed numbers that depend on a key and a counter only: Philox (philox.h) and the Box-Muller
// transform, in fp64. For processors and for CUDA devices, whose logarithms and cosines may differ in the
// last bit.
#pragma once

#include <cmath>
#include <numbers>

#include "worker/trainer/kernels/philox.h"

namespace caravan::kernels {

inline constexpr int kNormals = 4;  // of a block

template <typename Real>
struct NormalBlock {
  Real item[kNormals];
};

// Cosine and sine of an angle in turns. A device has functions for these that need no memory.
template <typename Real>
constexpr void put_on_circle(Real turns, Real* point) {
#ifdef __CUDA_ARCH__
  point[0] = cospi(2 * turns);
  point[1] = sinpi(2 * turns);
#else
  const Real angle = 2 * std::numbers::pi_v<Real> * turns;
  point[0] = std::cos(angle);
  point[1] = std::sin(angle);
#endif
}

// Two independent normal numbers from two uniform ones; the first is never zero, so that its logarithm is
// finite.
template <typename Real>
constexpr void box_muller(std::uint32_t a, std::uint32_t b, Real* normal) {
  constexpr Real kUnit = 0x1p-32;
  const Real radius = std::sqrt(-2 * std::log((a + Real{1}) * kUnit));
  put_on_circle(b * kUnit, normal);
  normal[0] *= radius;
  normal[1] *= radius;
}

// Half of a block.
template <typename Real>
constexpr void normal_pair(const RandomBlock& random, bool second, Real* normal) {
  box_muller(second ? random.word[2] : random.word[0], second ? random.word[3] : random.word[1], normal);
}

// A template, so that nvcc makes it for devices too.
template <typename Real = double>
constexpr NormalBlock<Real> normal_block(std::uint64_t key, std::uint64_t counter) {
  const RandomBlock random = philox(key, counter);
  NormalBlock<Real> normal{};
  normal_pair(random, /*second=*/false, normal.item);
  normal_pair(random, /*second=*/true, normal.item + kNormals / 2);
  return normal;
}

}  // namespace caravan::kernels
