#include "worker/trainer/kernels/host_copy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels {
namespace {

TEST(HostCopy, OfATensorOnTheHostIsTheTensorItself) {
  const at::Tensor flat = at::arange(10, at::kFloat);
  EXPECT_TRUE(on_host(flat).is_same(flat));
  const at::Tensor part = flat.narrow(0, 2, 3);
  EXPECT_EQ(bytes_of(part).data(), static_cast<std::byte*>(flat.data_ptr()) + 8);
  EXPECT_EQ(bytes_of(part).size(), 12u);
  fill_from_host(part, [](at::Tensor& there) { there.fill_(7); });
  EXPECT_EQ(flat[2].item<float>(), 7);
  EXPECT_EQ(flat[5].item<float>(), 5);
}

TEST(HostCopy, OfTensorsWithoutDataHasNone) {
  const at::Tensor shape_alone = at::empty({4}, at::device(at::kMeta).dtype(at::kBFloat16));
  const at::Tensor room = zeros_for_copy_of(shape_alone, 2);
  EXPECT_TRUE(room.is_meta());
  EXPECT_EQ(room.numel(), 2);
}

TEST(HostCopy, IsOfTheSameTypeAndZeroUntilItIsTaken) {
  const at::Tensor from = at::ones({3}, at::kBFloat16);
  const at::Tensor room = zeros_for_copy_of(from, 3);
  EXPECT_TRUE(at::equal(room, at::zeros({3}, at::kBFloat16)));
  copy_to_host(room, from);
  EXPECT_TRUE(at::equal(room, from));
}

TEST(HostCopy, LiesInMemoryThatTheTableOfTheDeviceHasForIt) {
  KernelTable table = cpu_kernels();
  table.zeros_on_host = [](int64_t elements, at::ScalarType type) { return at::full({elements}, 7, type); };
  const UseKernels use(c10::DeviceType::CPU, table);
  const at::Tensor room = zeros_for_copy_of(at::ones({3}, at::kBFloat16), 2);
  EXPECT_TRUE(at::equal(room, at::full({2}, 7, at::kBFloat16)));
}

TEST(KernelTable, OfADeviceThatNobodyHasOpenedIsAnError) {
  EXPECT_THROW((void)kernels_of(at::empty({1}, at::device(at::kMeta))), c10::Error);
}

KernelTable table_that_leaves_rows_alone() {
  KernelTable table = cpu_kernels();
  table.rope_apply = [](at::Tensor&, const at::Tensor&, int64_t, Rotation) {};
  return table;
}

TEST(KernelTable, IsUsedUntilTheScopeEnds) {
  const KernelTable other = table_that_leaves_rows_alone();
  const at::Tensor before = at::ones({1, 2}), table = at::zeros({1, 2});  // cosine and sine zero
  at::Tensor rows = before.clone();
  {
    const UseKernels use(c10::DeviceType::CPU, other);
    rope_apply(rows, table, 1, Rotation::Forward);
    EXPECT_TRUE(at::equal(rows, before));
  }
  rope_apply(rows, table, 1, Rotation::Forward);
  EXPECT_TRUE(at::equal(rows, at::zeros({1, 2})));
}

}  // namespace
}  // namespace caravan::kernels
