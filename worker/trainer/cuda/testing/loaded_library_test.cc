// What can be seen of the library on any machine.
#include "worker/trainer/cuda/rms_norm.h"
#include "worker/trainer/cuda/swiglu.h"
#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

TEST(LoadedLibrary, SaysWhyItLaunchesNothingWithoutADevice) {
  const auto missing = testing::missing_device();
  if (!missing) GTEST_SKIP() << "there is a device";
  SwigluForward small{};
  small.rows = small.columns = 1;
  AddRmsNorm large{};
  large.rows = 1;
  large.columns = 1 << 14;  // asks the device for more shared memory
  for (const LaunchResult& result : {swiglu_forward(small, nullptr), add_rms_norm(large, nullptr)}) {
    ASSERT_FALSE(result.ok());
    EXPECT_NE(missing->find(result.error), std::string::npos) << result.error << ", but " << *missing;
  }
}

TEST(LoadedLibrary, LaunchesNothingForNoRows) {
  EXPECT_TRUE(swiglu_forward({}, nullptr).ok());
}

}  // namespace
}  // namespace caravan::cuda
