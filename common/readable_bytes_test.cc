#include "common/readable_bytes.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(ReadableBytes, TakeTheUnitThatKeepsThemBelow1024) {
  EXPECT_EQ(readable_bytes(0), "0 B");
  EXPECT_EQ(readable_bytes(1023), "1023 B");
  EXPECT_EQ(readable_bytes(1024), "1.0 KiB");
  EXPECT_EQ(readable_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(readable_bytes(43056765338), "40.1 GiB");
  EXPECT_EQ(readable_bytes(int64_t{5} << 60), "5120.0 PiB");
  EXPECT_EQ(readable_bytes(-1536), "-1.5 KiB");
}

TEST(ReadableBytes, TellTheirUnit) {
  EXPECT_EQ(byte_unit_of(80'000'000'000).name, "GiB");
  EXPECT_EQ(byte_unit_of(80'000'000'000).bytes, 1024.0 * 1024 * 1024);
  EXPECT_EQ(byte_unit_of(7).name, "B");
}

TEST(ReadableBytes, LikeOthersShareTheirUnit) {
  EXPECT_EQ(readable_bytes_like(int64_t{512} << 20, int64_t{4} << 30), "0.5");
  EXPECT_EQ(readable_bytes_like(2048, 100), "2048");
}

}  // namespace
}  // namespace caravan
