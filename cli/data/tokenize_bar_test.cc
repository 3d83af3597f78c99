#include "cli/data/tokenize_bar.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(TokenizeBar, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(describe({.bytes = 1 << 20, .total_bytes = 4 << 20, .tokens = 300'000}, 2),
            "tokenizing  25 % of 4.0 MiB  300,000 tokens  512.0 KiB/s  6.0s left");
}

TEST(TokenizeBar, WithStandardInputTheEndIsUnknown) {
  EXPECT_EQ(describe({.bytes = 1 << 20, .total_bytes = std::nullopt, .tokens = 300'000}, 2),
            "tokenizing  1.0 MiB  300,000 tokens  512.0 KiB/s");
}

TEST(TokenizeBar, TheStartHasNoSpeedYet) {
  EXPECT_EQ(describe({.bytes = 0, .total_bytes = 4 << 20, .tokens = 0}, 0),
            "tokenizing  0 % of 4.0 MiB  0 tokens  0 B/s");
}

}  // namespace
}  // namespace caravan::cli
