#include "cli/page/door.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

using service::Code;

const Door kDoor{.token = "c0ffee", .names = {"gpu7", "gpu7.example.com"}};

http::Request request(const std::string& host, const std::string& origin = "") {
  http::Request made{.method = "GET", .target = "/"};
  if (!host.empty()) made.fields.emplace_back("host", host);
  if (!origin.empty()) made.fields.emplace_back("origin", origin);
  return made;
}

TEST(Door, OpensForAddressesAndOwnNames) {
  for (const char* host : {"127.0.0.1:8080", "127.0.0.1", "[::1]:8080", "10.0.0.7:8080", "localhost:9000",
                           "LOCALHOST", "gpu7:8080", "gpu7.example.com:8080"}) {
    EXPECT_TRUE(check_origin(kDoor, request(host))) << host;
  }
}

TEST(Door, IsClosedForNamesThatOthersMayHaveLeadHere) {
  for (const char* host : {"", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
                           "evil.example:127.0.0.1", "[evil.example]", "[", "gpu7.evil.example:8080"}) {
    const auto let_in = check_origin(kDoor, request(host));
    ASSERT_FALSE(let_in) << host;
    EXPECT_EQ(let_in.error().code, Code::kPermissionDenied);
  }
}

TEST(Door, IsClosedForPagesOfOtherOrigins) {
  EXPECT_TRUE(check_origin(kDoor, request("127.0.0.1:8080", "http://127.0.0.1:8080")));
  EXPECT_TRUE(check_origin(kDoor, request("localhost:8080", "http://LocalHost:8080")));
  for (const char* origin : {"http://evil.example", "http://127.0.0.1:8081", "https://127.0.0.1:8080",
                             "http://127.0.0.1", "null", "http://localhost:8080"}) {
    EXPECT_FALSE(check_origin(kDoor, request("127.0.0.1:8080", origin))) << origin;
  }
}

TEST(Door, AsksForTheWholeToken) {
  http::Request with = request("127.0.0.1:8080");
  EXPECT_EQ(check_token(kDoor, with).error().code, Code::kUnauthenticated);
  with.fields.emplace_back("authorization", "");
  for (const char* shown :
       {"Bearer ", "Bearer c0ffe", "Bearer c0ffee0", "Bearer c0ffef", "c0ffee", "bearer"}) {
    with.fields.back().second = shown;
    EXPECT_FALSE(check_token(kDoor, with)) << shown;
  }
  with.fields.back().second = "Bearer c0ffee";
  EXPECT_TRUE(check_token(kDoor, with));
}

}  // namespace
}  // namespace caravan::cli
