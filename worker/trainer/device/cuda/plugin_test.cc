// The library for GPUs as the trainer opens it, on a machine without one: built by the preset cuda, with
// libraries in the place of CUDA's that have its names and end the process when they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "worker/trainer/device/open_backend.h"

namespace caravan::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TrainerOptions options_for_a_gpu() {
  TrainerOptions options;
  options.device = DeviceKind::Gpu;
  options.model.heads = options.model.kv_heads = 2;
  options.model.head_dim = 64;
  return options;
}

TEST(DevicePlugin, LoadsAndSaysThatThereIsNoDevice) {
  const auto device = open_backend(options_for_a_gpu(), PLUGIN_FOLDER);
  if (device) GTEST_SKIP() << "there is a device: " << (*device)->description();
  EXPECT_THAT(
      device.error().message,
      AllOf(HasSubstr("spec.resources.device.kind is GPU, but CUDA finds no device on this machine ("),
            HasSubstr("run the job where there is a GPU with NVIDIA's driver for CUDA 13")));
}

TEST(DevicePlugin, AnAttentionThatItDoesNotKnowIsBadInputOnAnyMachine) {
  setenv("CARAVAN_ATTENTION", "fast", /*overwrite=*/1);
  const auto device = open_backend(options_for_a_gpu(), PLUGIN_FOLDER);
  unsetenv("CARAVAN_ATTENTION");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ExitCode::kBadInput);
  EXPECT_EQ(device.error().message,
            "CARAVAN_ATTENTION is 'fast': take cuDNN, flash or plain, or leave it out");
}

}  // namespace
}  // namespace caravan::trainer
