#include "serving/peer.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(Peer, ShowsATokenInWhateverCaseItIsAnnounced) {
  EXPECT_EQ(bearer_in("Bearer abc"), "abc");
  EXPECT_EQ(bearer_in("bEARER abc"), "abc");
  for (const char* other : {"", "Bearer", "Basic abc", "Bearerabc", "xBearer abc"})
    EXPECT_EQ(bearer_in(other), "");
}

TEST(Peer, ShowsNothingThatCouldBeReadAsAnotherToken) {
  EXPECT_EQ(bearer_in("Bearer a-Z.0_~+/=="), "a-Z.0_~+/==");
  for (const char* other :
       {"Bearer abc x", "Bearer abc ", "Bearer  abc", "Bearer abc\tx", "Bearer abc,def", "Bearer \xc3\xa4"})
    EXPECT_EQ(bearer_in(other), "") << other;
}

TEST(Peer, HasOneAddressWhicheverFamilyItIs) {
  EXPECT_EQ(host_of_peer("ipv4:10.0.0.7:4711"), "10.0.0.7");
  EXPECT_EQ(host_of_peer("ipv6:%5B2001:db8::7%5D:4711"), "2001:db8::7");
  EXPECT_EQ(host_of_peer("ipv6:[2001:db8::7]:4711"), "2001:db8::7");
}

}  // namespace
}  // namespace caravan
