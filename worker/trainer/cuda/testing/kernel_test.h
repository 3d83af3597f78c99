// What tests of kernels share: skipped where no kernel can run, the same bits in every order of threads, and
// values near those that were computed in fp64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "worker/trainer/cuda/testing/arrays.h"

namespace caravan::cuda::testing {

class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = missing_device()) GTEST_SKIP() << *reason;
  }
};

using Outputs = std::vector<std::vector<float>>;

inline bool same_bits(const Outputs& a, const Outputs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0)
      return false;
  }
  return true;
}

// What `run` returns, which is to be the same in every order.
template <typename Run>
Outputs in_every_order(const std::string& what, Run run) {
  set_thread_order(0);
  const Outputs first = run();
  for (int order = 1; order < thread_orders(); ++order) {
    set_thread_order(order);
    EXPECT_TRUE(same_bits(first, run())) << what << ": other bits in order " << order << " of threads";
  }
  return first;
}

struct Tolerance {
  double relative;
  double absolute;
};

// One rounding to storage after some fp32 arithmetic.
inline Tolerance rounded_once(Storage storage, double absolute = 1e-6) {
  return {.relative = storage == Storage::Float32 ? 2e-5 : 1.0 / 256 + 1e-4, .absolute = absolute};
}

// NaN is near nothing.
inline void expect_near(const std::vector<float>& actual, const std::vector<double>& expected,
                        const Tolerance& tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = tolerance.relative * std::abs(expected[i]) + tolerance.absolute;
    if (std::abs(double{actual[i]} - expected[i]) <= allowed) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  ADD_FAILURE() << what << ": " << wrong << " of " << expected.size() << " values are wrong, first " << first
                << ": " << actual[first] << ", expected " << expected[first];
}

inline void expect_launched(const LaunchResult& result) {
  if (!result.ok()) throw std::runtime_error(result.error);
}

}  // namespace caravan::cuda::testing
