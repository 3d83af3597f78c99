// The library for GPUs on the device of this machine: what only a device can show of it. Kernels and training
// are tested by the suites of all tables, which the same program has.
#include <ATen/ATen.h>
#include <ATen/core/CachingHostAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "worker/trainer/device/testing/opened_gpu.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/kernels/kernel_table.h"
#include "worker/trainer/trace/span.h"

namespace caravan::trainer {
namespace {

using testing::HasSubstr;
using testing::Not;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!opened_gpu(at::kBFloat16)) GTEST_SKIP() << opened_gpu(at::kBFloat16).error().message;
  }

  static const DeviceBackend& gpu() { return **opened_gpu(at::kBFloat16); }
  static at::TensorOptions fp32() { return at::device(gpu().device()).dtype(at::kFloat); }
};

TEST_F(Gpu, TakesTheFastestAttention) {
  EXPECT_THAT(gpu().description(), HasSubstr("attention: cuDNN"));
  EXPECT_THAT(gpu().description(), Not(HasSubstr("plain products"))) << "of segments";
}

TEST_F(Gpu, CountsWhatTensorsAskForToTheByte) {
  MemoryCounter all, named;
  const auto count = gpu().count_allocations(all);
  at::Tensor kept = at::empty({1001}, fp32());
  EXPECT_EQ(all.live_bytes(), 4004);
  {
    const CountTo charge(named);
    (void)at::empty({3}, fp32());
  }
  EXPECT_EQ(named.live_bytes(), 0);
  EXPECT_EQ(named.peak_bytes(), 12);
  kept.reset();
  EXPECT_EQ(all.live_bytes(), 0);
}

TEST_F(Gpu, CountsWhatItRefusesTowardsThePeak) {
  MemoryCounter counter;
  const auto count = gpu().count_allocations(counter);
  constexpr int64_t kMoreThanThereIs = int64_t{1} << 44;  // bytes
  EXPECT_THROW((void)at::empty({kMoreThanThereIs}, fp32().dtype(at::kByte)), c10::OutOfMemoryError);
  EXPECT_EQ(counter.live_bytes(), 0);
  EXPECT_GE(counter.peak_bytes(), kMoreThanThereIs);
}

TEST_F(Gpu, TellsWhatItsAllocatorHolds) {
  const at::Tensor held = at::empty({1 << 20}, fp32());
  const std::optional<DeviceMemory> memory = gpu().memory();
  ASSERT_TRUE(memory);
  EXPECT_GE(memory->reserved, 4 << 20);
  EXPECT_GE(memory->peak_reserved, memory->reserved);
  EXPECT_GT(memory->free, 0);
  EXPECT_GT(memory->total, memory->free);
}

// The host comes to its second mark long before the device has.
TEST_F(Gpu, MarksTellTheDevicesTime) {
  using Clock = std::chrono::steady_clock;
  const at::Tensor a = at::randn({4096, 4096}, fp32());
  (void)at::mm(a, a);
  const auto marks = gpu().marks();
  ASSERT_NE(marks, nullptr);
  const auto begin = Clock::now();
  const auto first = marks->mark();
  for (int i = 0; i < 8; ++i) (void)at::mm(a, a);
  const auto second = marks->mark();
  const auto third = marks->mark();
  const double products = marks->seconds_between(*first, *second);
  EXPECT_LE(products, std::chrono::duration<double>(Clock::now() - begin).count());
  EXPECT_LT(marks->seconds_between(*second, *third), products);
}

// The host has launched all long before the device is through with it.
TEST_F(Gpu, SpansHaveTheTimesOfWhatTheDeviceDid) {
  const at::Tensor a = at::randn({4096, 4096}, fp32());
  (void)at::mm(a, a);
  const auto marks = gpu().marks();
  const SystemClock host;
  const TraceClock clock(host, marks.get());
  SpanTrace trace;
  {
    const SpanRecording recording(trace, clock);
    const TraceSpan step(SpanKind::Step, "step");
    for (int i = 0; i < 8; ++i) {
      const TraceSpan product(SpanKind::Product, "mm");
      (void)at::mm(a, a);
    }
  }
  const Clock::TimePoint launched = host.now();
  ASSERT_EQ(trace.spans.size(), 9U);
  const auto begin = [&](std::size_t span) { return clock.time_of(trace.spans[span].begin); };
  const auto end = [&](std::size_t span) { return clock.time_of(trace.spans[span].end); };
  EXPECT_GT(end(0), launched);
  EXPECT_LT(end(0), host.now() + std::chrono::milliseconds(1));
  Clock::TimePoint before = begin(0);
  for (std::size_t product = 1; product < trace.spans.size(); ++product) {
    EXPECT_LE(before, begin(product));
    EXPECT_LT(begin(product), end(product));
    before = end(product);
  }
  EXPECT_LE(before, end(0));
}

int64_t bytes_of_host_allocator() {
  return at::getHostAllocator(at::kCUDA)->get_stats().allocated_bytes.current;
}

TEST_F(Gpu, TensorsComeToTheHostInPagesThatStay) {
  const kernels::UseKernels use(gpu().device().type(), gpu().kernels());
  const at::Tensor values = at::randn({1003}).to(gpu().device());
  const int64_t taken = bytes_of_host_allocator();
  const at::Tensor room = kernels::zeros_for_copy_of(values, values.numel());
  EXPECT_TRUE(room.is_pinned());
  EXPECT_TRUE(at::equal(room, at::zeros({1003})));
  EXPECT_EQ(bytes_of_host_allocator(), taken) << "it rounds up to a power of two";
  kernels::copy_to_host(room, values);
  EXPECT_TRUE(at::equal(room, kernels::on_host(values)));
  kernels::fill_from_host(values, [](at::Tensor& host) { host.fill_(7); });
  EXPECT_TRUE(at::equal(kernels::on_host(values), at::full({1003}, 7, at::kFloat)));
  EXPECT_EQ(kernels::read_number(kernels::zero_where(values)), 0);
}

}  // namespace
}  // namespace caravan::trainer
