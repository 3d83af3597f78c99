#include "worker/trainer/kernels/instruction_set.h"

#include <ATen/Version.h>
#include <ATen/cpu/Utils.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <string>

namespace caravan::kernels {
namespace {

InstructionSet of_libtorch() {
  static const InstructionSet set = [] {
    const std::string capability = at::get_cpu_capability();
    if (capability == "AVX512") return may_use_amx() ? InstructionSet::Amx : InstructionSet::Avx512;
    if (capability == "AVX2") return InstructionSet::Avx2;
    return InstructionSet::Baseline;
  }();
  return set;
}

constexpr int kNone = -1;
std::atomic<int> set_by_test = kNone;

}  // namespace

InstructionSet instruction_set() {
  const int by_test = set_by_test.load(std::memory_order_relaxed);
  return by_test == kNone ? of_libtorch() : static_cast<InstructionSet>(by_test);
}

bool processor_knows(const std::string& extension) {
  static const auto all = at::cpu::get_cpu_capabilities();
  return all.contains(extension) && all.at(extension).toBool();
}

bool may_use_amx() {
  static const bool may = processor_knows("amx_bf16") && at::cpu::init_amx();
  return may;
}

bool is_usable(InstructionSet set) {
  return set <= of_libtorch();
}

UseInstructionSet::UseInstructionSet(InstructionSet set) {
  TORCH_CHECK(is_usable(set), "this machine lacks that instruction set");
  set_by_test = static_cast<int>(set);
}

UseInstructionSet::~UseInstructionSet() {
  set_by_test = kNone;
}

}  // namespace caravan::kernels
