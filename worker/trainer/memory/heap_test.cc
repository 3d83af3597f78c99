#include "worker/trainer/memory/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace caravan::trainer {
namespace {

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

struct Free {
  void operator()(char* block) const { std::free(block); }
};

int64_t faults_of_writing(std::size_t bytes) {
  const int64_t before = page_faults();
  const std::unique_ptr<char, Free> block(static_cast<char*>(std::malloc(bytes)));
  std::memset(block.get(), 1, bytes);
  return page_faults() - before;
}

TEST(Heap, FindsWhatWasGivenBackInPlace) {
  constexpr std::size_t kBytes = std::size_t{64}
                                 << 20;  // larger than any block that is not mapped by default
  keep_freed_memory();
  faults_of_writing(kBytes);
  EXPECT_LT(faults_of_writing(kBytes), 100);
}

}  // namespace
}  // namespace caravan::trainer
