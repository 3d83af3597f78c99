// Who a caller is, how long an answer stands, and how much of the service one may have.
#include <gmock/gmock.h>

#include "common/certificates.h"
#include "common/testing/manual_clock.h"
#include "service/access/callers.h"
#include "service/access/shares.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Answer<Caller> reviewed(const std::string& status) {
  return caller_of_review(kube::parse_json(R"({"status": )" + status + "}", "review").value(), {"caravan"});
}

TEST(Callers, AReviewSaysWhoItIs) {
  const auto caller =
      reviewed(R"({"authenticated": true, "audiences": ["caravan"], "user": {"username": "ada",
      "uid": "1", "groups": ["nlp"], "extra": {"scopes": ["a", "b"]}}})");
  ASSERT_TRUE(caller) << caller.error().message;
  EXPECT_EQ(caller->user, "ada");
  EXPECT_THAT(caller->groups, ElementsAre("nlp"));
  EXPECT_THAT(caller->extra.at("scopes"), ElementsAre("a", "b"));
}

TEST(Callers, AnythingElseIsRefused) {
  for (const char* bad : {R"({"authenticated": false, "error": "expired"})", "{}",
                          R"({"authenticated": true, "user": {"username": "ada"}})",
                          R"({"authenticated": true, "audiences": ["other"], "user": {"username": "ada"}})",
                          R"({"authenticated": true, "audiences": ["caravan"], "user": {}})"}) {
    const auto caller = reviewed(bad);
    ASSERT_FALSE(caller) << bad;
    EXPECT_EQ(caller.error().code, Code::kUnauthenticated) << bad;
  }
}

TEST(Callers, ACertificatesNameIsTheUserAndItsOrganisationAGroup) {
  const auto authority = make_authority("authority", 1h);
  const auto pair =
      issue_certificate(authority.value(), {.common_name = "ada", .organization = "nlp", .for_client = true});
  const auto caller = caller_of_certificate(pair->certificate_pem);
  ASSERT_TRUE(caller) << caller.error().message;
  EXPECT_EQ(caller->user, "ada");
  EXPECT_THAT(caller->groups, ElementsAre("nlp", "system:authenticated"));
  EXPECT_FALSE(caller_of_certificate("no certificate"));
}

TEST(ExpiringCache, ForgetsInTimeAndWhenItIsFull) {
  testing::ManualClock clock;
  ExpiringCache<int, int> cache(clock, 10s, 2);
  cache.keep(1, 10);
  clock.advance(5s);
  cache.keep(2, 20);
  EXPECT_EQ(cache.find(1), 10);
  cache.keep(3, 30);
  EXPECT_EQ(cache.find(1), std::nullopt) << "it would have been forgotten first";
  EXPECT_EQ(cache.size(), 2u);
  clock.advance(10s);
  EXPECT_EQ(cache.find(2), std::nullopt);
}

TEST(Shares, WhoeverFloodsWaitsBehindHimself) {
  testing::ManualClock clock;
  Shares shares(clock, {.requests_per_second = 10, .burst = 2, .streams = 1});
  EXPECT_TRUE(shares.take_request("ada"));
  EXPECT_TRUE(shares.take_request("ada"));
  const auto refused = shares.take_request("ada");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.error().retry_after, 100ms);
  EXPECT_TRUE(shares.take_request("bob"));
  clock.advance(100ms);
  EXPECT_TRUE(shares.take_request("ada"));

  auto stream = shares.take_stream("ada");
  ASSERT_TRUE(stream);
  EXPECT_FALSE(shares.take_stream("ada"));
  EXPECT_TRUE(shares.take_stream("bob"));
  stream->reset();
  EXPECT_TRUE(shares.take_stream("ada"));
}

// Whoever has rights in a namespace makes as many accounts as he likes.
TEST(Shares, AccountsOfANamespaceHaveAPartTogether) {
  testing::ManualClock clock;
  Shares shares(clock, {.streams = 1});
  const auto account = [](const char* name_space, int number) {
    return fmt::format("system:serviceaccount:{}:{}", name_space, number);
  };
  auto first = shares.take_stream(account("team-a", 1));
  const auto second = shares.take_stream(account("team-a", 2));
  ASSERT_TRUE(first && second);
  const auto third = shares.take_stream(account("team-a", 3));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().message, "system:serviceaccounts:team-a has 2 streams open, and may not have more");
  EXPECT_TRUE(shares.take_stream(account("team-b", 1)));
  first->reset();
  EXPECT_TRUE(shares.take_stream(account("team-a", 3)));
}

}  // namespace
}  // namespace caravan::service
