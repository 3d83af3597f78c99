// Which of the instruction sets that our vector kernels are compiled for they use: the one that LibTorch
// uses, so that its environment variable ATEN_CPU_CAPABILITY (default, avx2, avx512) holds for both.
//
// Sums differ in their last bits from one instruction set to another; never from run to run, nor by the
// number of threads.
#pragma once

#include <string>
#include <type_traits>

namespace caravan::kernels {

// Baseline: what the compiler may use everywhere. Amx: AVX-512 with tiles of bf16.
enum class InstructionSet { Baseline, Avx2, Avx512, Amx };

InstructionSet instruction_set();

// As LibTorch names it: avx512_bf16.
bool processor_knows(const std::string& extension);

// Of bf16. A processor that has them is not enough: the kernel must let the process use its tiles, which old
// ones and sandboxes do not.
bool may_use_amx();

// Up to the one that LibTorch uses.
bool is_usable(InstructionSet set);

// For tests: another one than LibTorch's until the scope ends, on all threads.
class UseInstructionSet {
 public:
  explicit UseInstructionSet(InstructionSet set);
  ~UseInstructionSet();
  UseInstructionSet(const UseInstructionSet&) = delete;
  UseInstructionSet& operator=(const UseInstructionSet&) = delete;
};

// nullptr: not compiled for that one.
template <typename Function>
Function* choose_by_instruction_set(Function* baseline, std::type_identity_t<Function*> avx2,
                                    std::type_identity_t<Function*> avx512) {
  switch (instruction_set()) {
    case InstructionSet::Amx:
    case InstructionSet::Avx512:
      return avx512 != nullptr ? avx512 : baseline;
    case InstructionSet::Avx2:
      return avx2 != nullptr ? avx2 : baseline;
    case InstructionSet::Baseline:
      break;
  }
  return baseline;
}

}  // namespace caravan::kernels

// A function that highway's foreach_target.h has compiled once for each. Highway's own dispatch would need
// its shared library at run time.
#define CARAVAN_CHOOSE(function)                                                                           \
  ::caravan::kernels::choose_by_instruction_set(&HWY_STATIC_DISPATCH(function), HWY_CHOOSE_AVX2(function), \
                                                HWY_CHOOSE_AVX3(function))
