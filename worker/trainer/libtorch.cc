#include "worker/trainer/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>

namespace caravan::trainer {
namespace {

// Of LibTorch for processors. Its "allocate memory" is also what NCCL cannot that may lock too little.
constexpr std::string_view kAllocatorOfHost = "DefaultCPUAllocator";
// Of CUDA, in LibTorch's words, ours and NCCL's; of cuBLAS, and of cuDNN before 9 and since.
constexpr std::array<std::string_view, 3> kRefusalsOfDevice{"out of memory", "ALLOC_FAILED",
                                                            "ALLOCATION_FAILED"};
// NCCL's last words of an allocation, unless they name another failure of CUDA.
constexpr std::array<std::string_view, 2> kWordsOfNccl{"Failed to CUDA", "Failed to malloc"};
constexpr std::string_view kOtherFailure = "Cuda failure";

bool has(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

bool is_refusal_of_device(std::string_view text) {
  const auto found = [&](std::string_view words) { return has(text, words); };
  return std::ranges::any_of(kRefusalsOfDevice, found) ||
         (std::ranges::any_of(kWordsOfNccl, found) && !has(text, kOtherFailure));
}

}  // namespace

// Results depend on the number of threads, and on algorithms that add in the order of arrival. Memory that is
// about to be written is not filled before: that would touch every page of what may never be used.
void make_deterministic(int threads) {
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

void end_quickly(int exit_code) {
  std::fflush(nullptr);
  std::quick_exit(exit_code);
}

bool is_out_of_memory(const std::exception& error) {
  return is_out_of_host_memory(error) ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||  // of a device
         is_refusal_of_device(words_of(error));
}

bool is_out_of_host_memory(const std::exception& error) {
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error))
    return refused->code() == std::errc::not_enough_memory;
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr || has(words_of(error), kAllocatorOfHost);
}

std::string words_of(const std::exception& error) {
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  return of_libtorch == nullptr ? error.what() : of_libtorch->what_without_backtrace();
}

}  // namespace caravan::trainer
