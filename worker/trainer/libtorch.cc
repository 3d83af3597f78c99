#include "worker/trainer/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace caravan::trainer {

// Results depend on the number of threads, and on algorithms that add in the order of arrival. Memory that is
// about to be written is not filled before: that would touch every page of what may never be used.
void make_deterministic(int threads) {
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||  // of a device
         std::string_view(error.what()).find("allocate memory") != std::string_view::npos;
}

std::string words_of(const std::exception& error) {
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  return of_libtorch == nullptr ? error.what() : of_libtorch->what_without_backtrace();
}

}  // namespace caravan::trainer
