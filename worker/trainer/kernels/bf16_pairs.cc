#include "worker/trainer/kernels/bf16_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace caravan::kernels {
namespace {

#define CARAVAN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

CARAVAN_AVX512 __m512i words(const c10::BFloat16* from, __mmask16 lanes) {
  return _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, from));
}

}  // namespace

CARAVAN_AVX512 void pair_up(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns,
                            Tile<uint32_t> pairs) {
  for (int64_t row = 0; row < rows; row += 2) {
    const bool has_next = row + 1 < rows;
    for (int64_t i = 0; i < pairs.row; i += kWords) {
      const __mmask16 lanes = words_there(i, columns);
      const __m512i next = words(from.at(has_next ? row + 1 : row) + i, has_next ? lanes : __mmask16{0});
      const __m512i pair =
          _mm512_or_si512(words(from.at(row) + i, lanes), _mm512_maskz_slli_epi32(lanes, next, 16));
      _mm512_storeu_si512(pairs.at(row / 2) + i, pair);
    }
  }
}

}  // namespace caravan::kernels
#endif
