// Who is let in, whose turn it is, and what one may do, with an API server that is asked as seldom as it may
// be.
#include "service/access/gate.h"

#include <gmock/gmock.h>

#include <future>

#include "common/certificates.h"
#include "service/access/review.h"
#include "service/access/rights.h"
#include "service/testing/review_server.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;

struct Admission {
  Call call;
  Answer<void> admitted;
};

class GateTest : public ::testing::Test {
 protected:
  Admission enter(Gate& gate, const Credential& credential) {
    std::promise<Admission> promise;
    gate.enter(credential, {}, [&](const Call& call, const Answer<void>& admitted) {
      promise.set_value({call, admitted});
    });
    return promise.get_future().get();
  }

  testing::ReviewedService service_;
  Callers callers_{service_.client, service_.clock, {"caravan"}};
};

TEST_F(GateTest, LetsInWhomTheApiServerKnowsAndAsksOnceInTenSeconds) {
  service_.server.know("secret", "ada");
  Shares shares(service_.clock, {});
  Gate gate(callers_, shares, service_.clock, {});
  for (int i = 0; i < 3; ++i) {
    const Admission in = enter(gate, {.token = "secret", .host = "10.0.0.1"});
    EXPECT_TRUE(in.admitted);
    EXPECT_EQ(in.call.caller.user, "ada");
    EXPECT_EQ(in.call.caller.token, "secret");
    EXPECT_EQ(in.call.host, "10.0.0.1");
  }
  EXPECT_EQ(service_.server.questions(), 1);
}

TEST_F(GateTest, RefusesATokenWithinTenSecondsOfItsEnd) {
  service_.server.know("secret", "ada");
  Shares shares(service_.clock, {});
  Gate gate(callers_, shares, service_.clock, {});
  EXPECT_TRUE(enter(gate, {.token = "secret"}).admitted);
  service_.server.forget("secret");
  service_.clock.advance(kReviewsStand);
  const Admission out = enter(gate, {.token = "secret", .host = "10.0.0.1"});
  ASSERT_FALSE(out.admitted);
  EXPECT_EQ(out.admitted.error().code, Code::kUnauthenticated);
  EXPECT_EQ(out.admitted.error().reason, faults::kBadToken);
  EXPECT_EQ(out.call.caller.user, "") << "nobody that is known";
  EXPECT_EQ(out.call.host, "10.0.0.1");
}

TEST_F(GateTest, LetsNobodyInWhileTheApiServerCannotBeAsked) {
  service_.server.know("secret", "ada");
  service_.server.go_away();
  Shares shares(service_.clock, {});
  Gate gate(callers_, shares, service_.clock, {});
  const Admission out = enter(gate, {.token = "secret"});
  ASSERT_FALSE(out.admitted);
  EXPECT_EQ(out.admitted.error().code, Code::kUnavailable);
}

TEST_F(GateTest, SaysWhoIsRefusedForTooManyCalls) {
  service_.server.know("secret", "ada");
  Shares shares(service_.clock, {.requests_per_second = 1, .burst = 2});
  Gate gate(callers_, shares, service_.clock, {});
  EXPECT_TRUE(enter(gate, {.token = "secret", .host = "h"}).admitted);
  EXPECT_TRUE(enter(gate, {.token = "secret", .host = "h"}).admitted);
  const Admission out = enter(gate, {.token = "secret", .host = "h"});
  ASSERT_FALSE(out.admitted);
  EXPECT_EQ(out.admitted.error().reason, faults::kRate);
  EXPECT_EQ(out.call.caller.user, "ada");
}

// Whoever tries tokens out waits behind his own host, and asks the API server no more often than others.
TEST_F(GateTest, BoundsHowOftenAHostMayTryTokens) {
  Shares shares(service_.clock, {.requests_per_second = 1, .burst = 2});
  Gate gate(callers_, shares, service_.clock, {});
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(enter(gate, {.token = "guess " + std::to_string(i), .host = "h"}).admitted);
  }
  EXPECT_EQ(service_.server.questions(), 2);
}

// Who is known waits for his own calls only, also when he is looked up again: whatever others of his host do.
TEST_F(GateTest, WhoWasKnownLatelyIsKeptOutByNobodyOfHisHost) {
  service_.server.know("secret", "ada");
  Shares shares(service_.clock, {.requests_per_second = 0.001, .burst = 3});
  Gate gate(callers_, shares, service_.clock, {});
  EXPECT_TRUE(enter(gate, {.token = "secret", .host = "h"}).admitted);
  for (int i = 0; i < 5; ++i) enter(gate, {.token = "guess " + std::to_string(i), .host = "h"});
  service_.clock.advance(kReviewsStand);
  EXPECT_TRUE(enter(gate, {.token = "secret", .host = "h"}).admitted);
  EXPECT_TRUE(enter(gate, {.token = "secret", .host = "h"}).admitted) << "the review before took one call";
  EXPECT_FALSE(enter(gate, {.token = "secret", .host = "h"}).admitted) << "and this is the fourth";
}

TEST_F(GateTest, RefusesAtOnceWhatWouldWaitBehindTooMany) {
  service_.server.know("secret", "ada");
  Shares shares(service_.clock, {});
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  Gate gate(callers_, shares, service_.clock, {.threads = 1, .waiting = 1});
  std::promise<void> runs;
  gate.enter({.token = "secret"}, {}, [&](const Call&, const Answer<void>&) {
    runs.set_value();
    may_go_on.wait();
  });
  runs.get_future().wait();
  std::promise<void> waited;
  gate.enter({.token = "secret"}, {}, [&](const Call&, const Answer<void>&) { waited.set_value(); });
  const Admission out = enter(gate, {.token = "secret"});
  ASSERT_FALSE(out.admitted);
  EXPECT_EQ(out.admitted.error().reason, faults::kBusy);
  EXPECT_EQ(out.call.caller.user, "ada");
  go_on.set_value();
  waited.get_future().wait();
}

class ReviewTest : public GateTest {
 protected:
  Answer<void> ask_again(const Caller& caller) {
    return review(callers_, rights_, {}, caller, {"watch", "s"});
  }
  static std::string certificate(std::chrono::seconds lifetime) {
    return issue_certificate(
               make_authority("authority", 1h).value(),
               {.common_name = "ada", .for_server = false, .for_client = true, .lifetime = lifetime})
        .value()
        .certificate_pem;
  }

  Rights rights_{service_.client, service_.clock};
};

TEST_F(ReviewTest, KnowsNobodyByATokenThatHasExpired) {
  service_.server.know("secret", "ada");
  service_.server.allow("ada watch s");
  EXPECT_TRUE(ask_again({.user = "ada", .token = "secret"}));
  service_.server.forget("secret");
  service_.clock.advance(kReviewsStand);
  const Answer<void> over = ask_again({.user = "ada", .token = "secret"});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kUnauthenticated);
}

TEST_F(ReviewTest, KnowsNobodyByACertificateThatHasExpired) {
  service_.server.allow("ada watch s");
  const std::string pem = certificate(1h);
  const Caller ada = callers_.identify({}, {.certificate_pem = pem}).value();
  EXPECT_TRUE(ask_again(ada));
  service_.clock.advance(ada.certificate_ends - service_.clock.wall_now());
  const Answer<void> over = ask_again(ada);
  ASSERT_FALSE(over);
  EXPECT_TRUE(is_final(over.error()));
  EXPECT_EQ(over.error().message, "the certificate has expired");
  EXPECT_FALSE(callers_.identify({}, {.certificate_pem = pem})) << "by another call";
}

TEST_F(ReviewTest, KnowsSomebodyByACertificateThatNeverExpires) {
  service_.server.allow("ada watch s");
  const Caller ada =
      callers_.identify({}, {.certificate_pem = certificate(std::chrono::years(5000))}).value();
  EXPECT_TRUE(ask_again(ada));
}

class RightsTest : public ::testing::Test {
 protected:
  Answer<void> check(const std::string& user, const Action& action) {
    return rights_.check({}, {.user = user}, action);
  }

  testing::ReviewedService service_;
  Rights rights_{service_.client, service_.clock};
};

TEST_F(RightsTest, AreThoseOfTheNamespaceOrOfTheOneJob) {
  service_.server.allow("ada get s");
  service_.server.allow("bob get s train");
  EXPECT_TRUE(check("ada", {"get", "s", "train"}));
  EXPECT_TRUE(check("bob", {"get", "s", "train"}));
  const Answer<void> other_job = check("bob", {"get", "s", "other"});
  ASSERT_FALSE(other_job);
  EXPECT_EQ(other_job.error().code, Code::kPermissionDenied);
  EXPECT_EQ(other_job.error().message, "bob may not get llamatrainingjobs in the namespace s");
  EXPECT_FALSE(check("ada", {"get", "t", "train"}));
  EXPECT_FALSE(check("ada", {"create", "s"}));
  EXPECT_FALSE(check("ada", {"list"})) << "in all namespaces";
}

TEST_F(RightsTest, StandForTenSecondsAndBelongToOneCallerInAllThatHeIs) {
  service_.server.allow("ada get s");
  EXPECT_TRUE(check("ada", {"get", "s"}));
  EXPECT_TRUE(check("ada", {"get", "s"}));
  EXPECT_EQ(service_.server.questions(), 1);
  EXPECT_TRUE(rights_.check({}, {.user = "ada", .groups = {"nlp"}}, {"get", "s"}));
  EXPECT_EQ(service_.server.questions(), 2) << "in another group he is asked about anew";
  service_.server.forbid("ada get s");
  service_.clock.advance(kReviewsStand);
  EXPECT_FALSE(check("ada", {"get", "s"}));
}

TEST_F(RightsTest, AreNobodysWhileTheApiServerCannotBeAsked) {
  service_.server.allow("ada get s");
  service_.server.go_away();
  const Answer<void> unknown = check("ada", {"get", "s"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace caravan::service
