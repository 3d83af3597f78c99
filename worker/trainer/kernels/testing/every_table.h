// Runs a test of kernels with every table of kernels and every storage type it knows: those of processors by
// instruction set, and the one of GPUs, which is emulated or that of a device (device/testing/gpu.h). What
// this machine cannot run is skipped and says so.
//
// Results may differ by a few roundings of the storage type from what ATen makes in fp64 of the same numbers;
// the number of threads must not change them at all.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "worker/trainer/device/testing/gpu.h"
#include "worker/trainer/kernels/cross_entropy.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/kernel_table.h"
#include "worker/trainer/kernels/sum_of_squares.h"

namespace caravan::kernels {

// Absent: a GPU's.
using TableOfTest = std::optional<InstructionSet>;

constexpr InstructionSet kInstructionSets[] = {InstructionSet::Baseline, InstructionSet::Avx2,
                                               InstructionSet::Avx512, InstructionSet::Amx};
constexpr const char* kNamesOfSets[] = {"Baseline", "Avx2", "Avx512", "Amx"};

class EveryTable : public testing::TestWithParam<std::tuple<TableOfTest, at::ScalarType>> {
 protected:
  EveryTable() : threads_(at::get_num_threads()) {}
  ~EveryTable() override { at::set_num_threads(threads_); }

  void SetUp() override {
    if (is_gpu() && tested_gpu().kernels == nullptr) GTEST_SKIP() << tested_gpu().missing;
    if (!is_gpu() && !is_usable(set()))
      GTEST_SKIP() << "this machine, or ATEN_CPU_CAPABILITY, has no "
                   << kNamesOfSets[static_cast<int>(set())];
    at::manual_seed(1);
    if (is_gpu())
      table_.emplace(tested_gpu().device.type(), *tested_gpu().kernels);
    else
      set_.emplace(set());
  }

  static InstructionSet set() { return *std::get<0>(GetParam()); }
  static bool is_gpu() { return !std::get<0>(GetParam()); }
  // Which takes far longer.
  static bool is_emulated() { return is_gpu() && device().is_cpu(); }
  static at::Device device() { return is_gpu() ? tested_gpu().device : at::Device(at::kCPU); }
  static at::ScalarType storage() { return std::get<1>(GetParam()); }
  static at::ScalarType wide() { return storage() == at::kDouble ? at::kDouble : at::kFloat; }
  // The same numbers, whatever the device.
  static at::Tensor random(at::IntArrayRef shape) { return stored(at::randn(shape, at::kDouble)); }
  static at::Tensor random_wide(at::IntArrayRef shape) { return at::randn(shape, wide()).to(device()); }
  // As the table's tensors are.
  static at::Tensor stored(const at::Tensor& values) { return values.to(device(), storage()); }

  // roundings: of the type that `made` has.
  static void expect_near(const at::Tensor& made, const at::Tensor& exact, double roundings,
                          const std::string& what) {
    const double unit = made.scalar_type() == at::kDouble  ? 0x1p-52
                        : made.scalar_type() == at::kFloat ? 0x1p-23
                                                           : 0x1p-8;
    EXPECT_TRUE(at::allclose(made.to(at::kDouble), exact, roundings * unit, roundings * unit))
        << what << ": off by " << (made.to(at::kDouble) - exact).abs().max().item<double>();
  }

  // make() on one thread and on three, where the table's kernels share the host's.
  static void expect_same_on_all_threads(const std::function<std::vector<at::Tensor>()>& make) {
    if (!std::get<0>(GetParam())) return;
    at::set_num_threads(1);
    const std::vector<at::Tensor> alone = make();
    at::set_num_threads(3);
    const std::vector<at::Tensor> together = make();
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_TRUE(at::equal(alone[i], together[i])) << "result " << i << " on three threads";
  }

 private:
  static const gpu::TestedGpu& tested_gpu() { return gpu::tested_gpu(storage()); }

  const int threads_;
  std::optional<UseInstructionSet> set_;
  std::optional<UseKernels> table_;
};

inline std::string name_of(const testing::TestParamInfo<EveryTable::ParamType>& info) {
  const auto& [set, storage] = info.param;
  return std::string(set ? kNamesOfSets[static_cast<int>(*set)] : gpu::kTestedGpu) + at::toString(storage);
}

// GPUs have no kernels for fp64, in which layouts are compared.
inline std::vector<EveryTable::ParamType> every_table() {
  std::vector<EveryTable::ParamType> all;
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const InstructionSet set : kInstructionSets) all.emplace_back(set, storage);
    if (storage != at::kDouble) all.emplace_back(std::nullopt, storage);
  }
  return all;
}

inline double sum_of_squares(const at::Tensor& values) {
  at::Tensor sum = zero_where(values);
  add_sum_of_squares(values, sum);
  return read_number(sum);
}

inline double loss_of(const at::Tensor& targets_C, const at::Tensor& statistics_3C) {
  at::Tensor loss = zero_where(statistics_3C);
  add_cross_entropy_loss(targets_C, statistics_3C, loss);
  return read_number(loss);
}

}  // namespace caravan::kernels
