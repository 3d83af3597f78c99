#include "common/host_port.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(HostPort, IsAHostAndAPort) {
  for (const char* address : {"a:0", "10.0.0.7:65535", "[::1]:80", "job-0.job:7070"})
    EXPECT_TRUE(is_host_port(address)) << address;
  for (const char* address : {"", "a", ":80", "a:", "a:65536", "a:-1", "a:000080", "a:8o"})
    EXPECT_FALSE(is_host_port(address)) << address;
}

TEST(HostPort, IsTakenApartAtTheLastColon) {
  EXPECT_EQ(host_of("[::1]:80"), "[::1]");
  EXPECT_EQ(port_of("[::1]:80"), "80");
}

}  // namespace
}  // namespace caravan
