#include "service/answer/fault.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/rpc/status.pb.h>

namespace caravan::service {
namespace {

using ::testing::EndsWith;

constexpr std::size_t kRoom = 7500;  // of the 8 KiB of headers that a client of gRPC takes, beside the others

// A message has up to three characters for each byte there, and details are in Base64.
std::size_t bytes_in_headers(const Fault& fault) {
  return 3 * fault.message.size() + status_of(fault).ByteSizeLong() * 4 / 3;
}

TEST(FitForHeaders, OfManyMistakesTheFirstAreToldAndHowManyMoreThereAre) {
  Fault many{.code = Code::kInvalidArgument, .reason = faults::kInvalidJob};
  for (int i = 0; i < 500; ++i) {
    many.fields.push_back({fmt::format("job.spec.worker.labels.{}", i), "expected a label"});
    many.message += fmt::format("spec.worker.labels.{}: expected a label; ", i);
  }
  const Fault fit = fit_for_headers(many);
  EXPECT_LT(bytes_in_headers(fit), kRoom);
  EXPECT_EQ(fit.code, Code::kInvalidArgument);
  EXPECT_EQ(fit.reason, faults::kInvalidJob);
  ASSERT_GT(fit.fields.size(), 10u);
  EXPECT_EQ(fit.fields.front().subject, "job.spec.worker.labels.0");
  EXPECT_EQ(fit.fields.back().subject, "job");
  EXPECT_EQ(fit.fields.back().description,
            fmt::format("has {} more mistakes, for which there is no room here", 501 - fit.fields.size()));
}

TEST(FitForHeaders, WordsOfTheApiServerAreCut) {
  const std::string words(60'000, 'x');
  const Fault fit = fit_for_headers({.code = Code::kResourceExhausted,
                                     .reason = faults::kQuota,
                                     .message = words,
                                     .quotas = {{"ResourceQuota", words}}});
  EXPECT_LT(bytes_in_headers(fit), kRoom);
  EXPECT_THAT(fit.message, EndsWith("xxx..."));
  EXPECT_THAT(fit.quotas.front().description, EndsWith("xxx..."));
}

TEST(FitForHeaders, WhatIsShortStaysAsItIs) {
  const Fault fit = fit_for_headers(bad_field("page_size", "expected a number from 0").value());
  EXPECT_EQ(fit.message, "page_size: expected a number from 0");
  ASSERT_EQ(fit.fields.size(), 1u);
  EXPECT_EQ(fit.fields.front().description, "expected a number from 0");
}

}  // namespace
}  // namespace caravan::service
