#include "worker/trainer/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

namespace caravan::trainer {
namespace {

// Of LibTorch's allocator for processors; of CUDA, in LibTorch's words, ours and NCCL's; of cuBLAS, and of
// cuDNN before 9 and since; of NCCL, whose last words have the bytes in place of the reason.
constexpr std::array<std::string_view, 6> kRefusalsOfMemory{"allocate memory", "out of memory",
                                                            "ALLOC_FAILED",    "ALLOCATION_FAILED",
                                                            "Failed to CUDA",  "Failed to malloc"};

}  // namespace

// Results depend on the number of threads, and on algorithms that add in the order of arrival. Memory that is
// about to be written is not filled before: that would touch every page of what may never be used.
void make_deterministic(int threads) {
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

bool is_out_of_memory(const std::exception& error) {
  const std::string text = words_of(error);
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||  // of a device
         std::ranges::any_of(kRefusalsOfMemory,
                             [&](std::string_view words) { return text.find(words) != std::string::npos; });
}

std::string words_of(const std::exception& error) {
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  return of_libtorch == nullptr ? error.what() : of_libtorch->what_without_backtrace();
}

}  // namespace caravan::trainer
