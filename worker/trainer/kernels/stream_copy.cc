#include "worker/trainer/kernels/stream_copy.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace caravan::kernels {
namespace {

constexpr int64_t kBytesPerTask = 1 << 20;

#if defined(__x86_64__)
constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
// Pages that are copied at the same time, so that several banks of memory work; as glibc does.
constexpr std::size_t kPages = 4;

void stream_line(std::byte* to, const std::byte* from) {
  for (std::size_t at = 0; at < kLine; at += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t head = std::min(bytes, (kLine - past_line) % kLine);
  std::memcpy(to, from, head);
  std::size_t done = head;
  for (; bytes - done >= kPages * kPage; done += kPages * kPage)
    for (std::size_t line = done; line < done + kPage; line += kLine)
      for (std::size_t at = line; at < line + kPages * kPage; at += kPage) stream_line(to + at, from + at);
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();  // other threads read it
}
#else
void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace

void stream_copy(std::span<std::byte> to, std::span<const std::byte> from) {
  at::parallel_for(0, std::ssize(from), kBytesPerTask, [&](int64_t begin, int64_t end) {
    copy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace caravan::kernels
