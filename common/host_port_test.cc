#include "common/host_port.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(HostPort, IsAHostAndAPort) {
  for (const char* address : {"a:0", "10.0.0.7:65535", "[::1]:80", "job-0.job:7070"})
    EXPECT_TRUE(is_host_port(address)) << address;
  for (const char* address :
       {"", "a", ":80", "a:", "a:65536", "a:-1", "a:000080", "a:8o", "http://a:80", "unix:/a:80"})
    EXPECT_FALSE(is_host_port(address)) << address;
}

TEST(HostPort, IsTakenApartAtTheLastColon) {
  EXPECT_EQ(host_of("[::1]:80"), "[::1]");
  EXPECT_EQ(port_of("[::1]:80"), "80");
}

TEST(HostPort, AnIpAddressIsToldFromAName) {
  for (const char* host : {"10.0.0.7", "2001:db8::7", "::"}) EXPECT_TRUE(is_ip_address(host)) << host;
  for (const char* host : {"", "a", "10.0.0", "a.b", "[::1]", "a:b", "10.0.0.7/32"})
    EXPECT_FALSE(is_ip_address(host)) << host;
}

TEST(HostPort, KnowsWhatOnlyThisMachineReaches) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "localhost", "LocalHost", "::1", "[::1]"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"", "0.0.0.0", "::", "10.0.0.7", "127.example.com", "localhost.example.com"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace caravan
