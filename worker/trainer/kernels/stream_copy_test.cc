#include "worker/trainer/kernels/stream_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace caravan::kernels {
namespace {

std::byte value_at(std::size_t index) {
  return static_cast<std::byte>(index * 2'654'435'761U >> 13);
}

// Any length and any place in a line, in one piece and in several; nothing beside it is written.
TEST(StreamCopy, IsTheSameBytes) {
  constexpr std::size_t kMargin = 100;
  constexpr std::byte kUntouched{0xA5};
  for (const std::size_t size : {0u, 1u, 63u, 64u, 4'096u, 16'383u, 16'384u, 16'448u, 100'003u, 3'500'000u}) {
    for (const std::size_t begin : {0u, 1u, 8u, 63u}) {
      std::vector<std::byte> from(size + kMargin);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = value_at(i);
      std::vector<std::byte> to(begin + size + kMargin, kUntouched);
      stream_copy(std::span(to).subspan(begin, size), std::span(from).first(size));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool is_copied = i >= begin && i < begin + size;
        wrong += to[i] != (is_copied ? value_at(i - begin) : kUntouched) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0u) << size << " bytes to " << begin;
    }
  }
}

}  // namespace
}  // namespace caravan::kernels
