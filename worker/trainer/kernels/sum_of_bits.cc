#include "worker/trainer/kernels/sum_of_bits.h"

#include <ATen/Parallel.h>

#include <cstddef>
#include <cstring>
#include <functional>

#include "worker/trainer/kernels/cpu_kernels.h"

namespace caravan::kernels::cpu {
namespace {

constexpr int64_t kWordBytes = sizeof(uint32_t);
constexpr int64_t kWordsPerTask = 1 << 16;

// Of its first bytes; the others count as zeros.
uint32_t word_at(const std::byte* from, int64_t bytes) {
  uint32_t word = 0;
  std::memcpy(&word, from, static_cast<std::size_t>(bytes));
  return word;
}

}  // namespace

uint64_t sum_of_bits(const at::Tensor& flat) {
  const auto* bytes = static_cast<const std::byte*>(flat.const_data_ptr());
  const auto size = static_cast<int64_t>(flat.nbytes());
  const int64_t words = size / kWordBytes;
  const auto sum_of_words = [bytes](int64_t begin, int64_t end, uint64_t sum) {
    for (int64_t i = begin; i < end; ++i) sum += word_at(bytes + i * kWordBytes, kWordBytes);
    return sum;
  };
  const uint64_t sum = at::parallel_reduce(0, words, kWordsPerTask, uint64_t{0}, sum_of_words, std::plus<>());
  const int64_t rest = size % kWordBytes;
  return rest == 0 ? sum : sum + word_at(bytes + words * kWordBytes, rest);
}

}  // namespace caravan::kernels::cpu
