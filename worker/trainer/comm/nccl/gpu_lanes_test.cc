// Whether a device has queues enough for the lanes of a rank and what it computes: where two share one, the
// second waits for the first, and stages for each other.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "worker/trainer/comm/nccl/testing/meeting_kernels.h"
#include "worker/trainer/device/testing/opened_gpu.h"

namespace caravan::trainer {
namespace {

// A stage amid others has four ways to each of two neighbours; tensor, data, pipeline and embedding group.
constexpr int kMostLanes = 12;

// The one that computes, and those that c10d takes for its communicators.
std::vector<void*> streams_for(int lanes, at::Device device) {
  const c10::impl::VirtualGuardImpl pool(device.type());
  std::vector<void*> streams{pool.getStream(device).native_handle()};
  for (int lane = 0; lane < lanes; ++lane)
    streams.push_back(pool.getStreamFromGlobalPool(device, /*isHighPriority=*/true).native_handle());
  return streams;
}

TEST(GpuLanes, AreUnderWayAllAtOnceWithWhatComputes) {
  const auto& gpu = opened_gpu(at::kBFloat16);
  if (!gpu) GTEST_SKIP() << gpu.error().message;
  const std::vector<void*> streams = streams_for(kMostLanes, (*gpu)->device());
  EXPECT_EQ(count_that_meet(streams, std::chrono::seconds(5)), kMostLanes + 1)
      << "with CUDA_DEVICE_MAX_CONNECTIONS=" << std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

}  // namespace
}  // namespace caravan::trainer
