#include "worker/trainer/kernels/bf16_pairs.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace caravan::kernels {

#if defined(__x86_64__)
namespace {

#define CARAVAN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

constexpr int64_t kLanes = 16;

CARAVAN_AVX512 __m512i words(const c10::BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, from));
}

}  // namespace

CARAVAN_AVX512 void pair_up(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns,
                            Tile<uint32_t> pairs) {
  for (int64_t row = 0; row < rows; row += 2) {
    const bool has_next = row + 1 < rows;
    for (int64_t i = 0; i < pairs.row; i += kLanes) {
      const auto lanes = static_cast<__mmask16>((1U << std::clamp<int64_t>(columns - i, 0, kLanes)) - 1U);
      const __m512i next = words(from.at(has_next ? row + 1 : row) + i, has_next ? lanes : __mmask16{0});
      const __m512i pair =
          _mm512_or_si512(words(from.at(row) + i, lanes), _mm512_maskz_slli_epi32(lanes, next, 16));
      _mm512_storeu_si512(pairs.at(row / 2) + i, pair);
    }
  }
}

#else

void pair_up(Tile<const c10::BFloat16>, int64_t, int64_t, Tile<uint32_t>) {}

#endif

}  // namespace caravan::kernels
