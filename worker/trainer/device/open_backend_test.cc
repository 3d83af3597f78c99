#include "worker/trainer/device/open_backend.h"

#include <ATen/ops/empty.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <memory>

#include "common/testing/temporary_folder.h"
#include "worker/trainer/device/plugin.h"

namespace caravan::trainer {
namespace {

using testing::HasSubstr;

TEST(OpenBackend, ProcessorsAreAlwaysThere) {
  const auto device = open_backend(TrainerOptions{}, "/nowhere");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_TRUE((*device)->device().is_cpu());
  EXPECT_EQ(&(*device)->kernels(), &kernels::cpu_kernels());
  EXPECT_TRUE((*device)->description().empty());
  EXPECT_FALSE((*device)->memory());
}

TEST(OpenBackend, CountsWhatTensorsOnProcessorsTake) {
  const auto device = open_backend(TrainerOptions{});
  ASSERT_TRUE(device);
  MemoryCounter counter;
  const auto count = (*device)->count_allocations(counter);
  {
    const at::Tensor tensor = at::empty({16}, at::kFloat);
    EXPECT_EQ(counter.live_bytes(), 64);
  }
  EXPECT_EQ(counter.live_bytes(), 0);
}

TEST(OpenBackend, AGpuWithoutItsLibrarySaysWhichImageAndWhichBuildHaveIt) {
  TrainerOptions options;
  options.device = DeviceKind::Gpu;
  const auto device = open_backend(options, "/nowhere");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message,
              HasSubstr("spec.resources.device.kind is GPU, but the library for GPUs cannot be loaded "
                        "(/nowhere/libcaravan_device_cuda.so: cannot open shared object file"));
  EXPECT_THAT(device.error().message, HasSubstr("take the worker image for NVIDIA GPUs (./dev image --cuda"));
  EXPECT_THAT(device.error().message, HasSubstr("build/gpu/bin/caravan of ./dev build gpu"));
  EXPECT_EQ(device.error().code, ExitCode::kBadInput) << "the same image would fail on any machine";
}

TEST(OpenBackend, ALibraryOfAnotherBuildIsBadInput) {
  const test::TemporaryFolder folder;
  const std::unique_ptr<void, int (*)(void*)> some(dlopen("libm.so.6", RTLD_NOW), dlclose);
  link_map* of_it = nullptr;
  ASSERT_EQ(dlinfo(some.get(), RTLD_DI_LINKMAP, static_cast<void*>(&of_it)), 0);
  std::filesystem::copy_file(of_it->l_name, folder.path(kPluginFile));
  TrainerOptions options;
  options.device = DeviceKind::Gpu;
  const auto device = open_backend(options, folder.path());
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("is of version none and the trainer of version"));
  EXPECT_EQ(device.error().code, ExitCode::kBadInput);
}

TEST(OpenBackend, ALibraryThatCannotBeReadIsAFailureOfTheMachine) {
  const test::TemporaryFolder folder;
  folder.write(kPluginFile, "cut off");
  TrainerOptions options;
  options.device = DeviceKind::Gpu;
  const auto device = open_backend(options, folder.path());
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ExitCode::kJobFailed);
}

}  // namespace
}  // namespace caravan::trainer
