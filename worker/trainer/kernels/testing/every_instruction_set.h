// Runs a test of kernels with every instruction set that this machine has and every storage type, and what
// such tests compare by.
//
// Results may differ by a few roundings of the storage type from what ATen makes in fp64 of the same numbers;
// the number of threads must not change them at all.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "worker/trainer/kernels/instruction_set.h"

namespace caravan::kernels {

class EveryInstructionSet : public testing::TestWithParam<std::tuple<InstructionSet, at::ScalarType>> {
 protected:
  EveryInstructionSet() : use_(std::get<0>(GetParam())), threads_(at::get_num_threads()) {
    at::manual_seed(1);
  }
  ~EveryInstructionSet() override { at::set_num_threads(threads_); }

  static at::ScalarType storage() { return std::get<1>(GetParam()); }
  static at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kDouble).to(storage()); }
  static at::Tensor random_wide(at::IntArrayRef shape) {
    return at::randn(shape, storage() == at::kDouble ? at::kDouble : at::kFloat);
  }

  // roundings: of the type that `made` has.
  static void expect_near(const at::Tensor& made, const at::Tensor& exact, double roundings,
                          const std::string& what) {
    const double unit = made.scalar_type() == at::kDouble  ? 0x1p-52
                        : made.scalar_type() == at::kFloat ? 0x1p-23
                                                           : 0x1p-8;
    EXPECT_TRUE(at::allclose(made.to(at::kDouble), exact, roundings * unit, roundings * unit))
        << what << ": off by " << (made.to(at::kDouble) - exact).abs().max().item<double>();
  }

  // make() on one thread and on three.
  static void expect_same_on_all_threads(const std::function<std::vector<at::Tensor>()>& make) {
    at::set_num_threads(1);
    const std::vector<at::Tensor> alone = make();
    at::set_num_threads(3);
    const std::vector<at::Tensor> together = make();
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_TRUE(at::equal(alone[i], together[i])) << "result " << i << " on three threads";
  }

 private:
  const UseInstructionSet use_;
  const int threads_;
};

inline std::string name_of(const testing::TestParamInfo<EveryInstructionSet::ParamType>& info) {
  constexpr const char* kSets[] = {"Baseline", "Avx2", "Avx512"};
  return std::string(kSets[static_cast<int>(std::get<0>(info.param))]) +
         at::toString(std::get<1>(info.param));
}

inline auto every_instruction_set() {
  return testing::Combine(testing::ValuesIn(usable_instruction_sets()),
                          testing::Values(at::kFloat, at::kBFloat16, at::kDouble));
}

}  // namespace caravan::kernels
