#include "cli/page/page_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(PageAddress, IsAHostAndAPort) {
  for (const char* text : {"", ":8080", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                           "127.0.0.1:123456", "job.yaml"}) {
    const auto address = parse_page_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, HasSubstr("--page: expected HOST:PORT"));
    EXPECT_EQ(address.error().code, ExitCode::kBadInput);
  }
}

TEST(PageAddress, KnowsWhatOnlyThisMachineReaches) {
  for (const char* text : {"127.0.0.1:0", "127.9.9.9:1", "localhost:8080", "[::1]:8080"})
    EXPECT_TRUE(parse_page_address(text)->is_loopback) << text;
  for (const char* text : {"0.0.0.0:0", "[::]:80", "10.0.0.7:8080", "gpu7:8080", "127.example.com:1"})
    EXPECT_FALSE(parse_page_address(text)->is_loopback) << text;
}

TEST(PageAddress, IsOpenedByANameThatLeadsThere) {
  EXPECT_EQ(url_of(*parse_page_address("127.0.0.1:0"), "127.0.0.1:4711", "c0ffee"),
            "http://127.0.0.1:4711/#token=c0ffee");
  EXPECT_EQ(url_of(*parse_page_address("[::1]:0"), "[::1]:4711", "c0ffee"),
            "http://[::1]:4711/#token=c0ffee");
  EXPECT_THAT(parse_page_address("GPU7.example.com:80")->names, Contains("gpu7.example.com"));
  const auto any = parse_page_address("0.0.0.0:80");
  EXPECT_NE(any->host, "0.0.0.0");
  EXPECT_THAT(any->names, Contains(any->host));
}

TEST(PageAddress, HasATokenOfItsOwnEachTime) {
  EXPECT_EQ(random_token()->size(), 32u);
  EXPECT_NE(*random_token(), *random_token());
}

}  // namespace
}  // namespace caravan::cli
