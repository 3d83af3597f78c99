// Tokens that a real API server issued, and what their holders may speak for.
#include "operator/service/token_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

#include "common/testing/manual_clock.h"
#include "operator/api/names.h"
#include "tests/crd/job_server.h"

namespace caravan::controller::testing {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using ::testing::HasSubstr;

class TokenCheckTest : public ::testing::Test {
 protected:
  TokenCheckTest() {
    create(kServiceAccounts,
           {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", JsonObject{{"name", "train"}}}});
  }

  kube::ResourcePath at(const kube::Resource& resource) const {
    return {.resource = resource, .name_space = server_.name_space()};
  }
  Json create(const kube::Resource& resource, JsonObject object) {
    auto created = server_.client().create({}, at(resource), Json(std::move(object)));
    if (!created) ADD_FAILURE() << created.error().message;
    return created.value_or(Json());
  }
  // As the operator makes it, for a job of that name, whose UID is its name too.
  Json make_pod(const std::string& job, int node) {
    const JsonObject owner{
        {"apiVersion", kApiVersion}, {"kind", kKind}, {"name", job}, {"uid", job}, {"controller", true}};
    return create(kube::kPods,
                  {{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", JsonObject{{"name", fmt::format("{}-{}-a1", job, node)},
                                           {"labels", JsonObject{{labels::kNodeIndex, std::to_string(node)}}},
                                           {"ownerReferences", JsonArray{owner}}}},
                   {"spec", JsonObject{{"serviceAccountName", "train"},
                                       {"containers",
                                        JsonArray{JsonObject{{"name", "worker"}, {"image", "worker"}}}}}}});
  }
  std::string token(const std::string& audience, const Json* pod) {
    return server_.token("train", audience, pod);
  }
  Result<Reporter> check(const std::string& token) { return tokens_.check({}, token); }
  std::string why_refused(const std::string& token) {
    const auto reporter = check(token);
    return reporter ? fmt::format("accepted for {}", to_string(reporter->job)) : reporter.error().message;
  }
  // The API server, too, remembers for some seconds what it found good.
  void wait_until_the_server_refuses(const std::string& token) {
    for (int i = 0; i < 600; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      if (!TokenCheck(server_.client(), clock_, pods_).check({}, token)) return;
    }
    FAIL() << "the API server takes the token for a minute after its account is gone";
  }
  // The cache, as of now.
  void look() {
    auto page = server_.client().list({}, at(kube::kPods), {});
    ASSERT_TRUE(page) << page.error().message;
    pods_.replace(std::move(page->items), page->resource_version);
  }

  kube::testing::JobServer server_;
  ::caravan::testing::ManualClock clock_;
  kube::Store pods_;
  TokenCheck tokens_{server_.client(), clock_, pods_};
};

TEST_F(TokenCheckTest, OneOfAPodOfNodeZeroSpeaksForThePodsOwnJob) {
  const Json pod = make_pod("train", 0);
  const Json other = make_pod("other", 0);
  look();
  const auto reporter = check(token(kReportAudience, &pod));
  ASSERT_TRUE(reporter) << reporter.error().message;
  EXPECT_EQ(reporter->job, (kube::ObjectKey{server_.name_space(), "train"}));
  EXPECT_EQ(reporter->job_uid, "train");
  const auto of_another_job = check(token(kReportAudience, &other));
  ASSERT_TRUE(of_another_job) << of_another_job.error().message;
  EXPECT_EQ(of_another_job->job_uid, "other") << "whatever it may say";
}

TEST_F(TokenCheckTest, AnythingElseIsRefused) {
  const Json pod = make_pod("train", 0);
  const Json worker = make_pod("train", 1);
  look();
  EXPECT_THAT(why_refused(token("https://kubernetes.default.svc", &pod)),
              HasSubstr("the token is not valid"));
  EXPECT_THAT(why_refused(token(kReportAudience, nullptr)), HasSubstr("was not given to a pod"));
  EXPECT_THAT(why_refused(token(kReportAudience, &worker)), HasSubstr("is not the one of node 0"));
  EXPECT_THAT(why_refused("garbage"), HasSubstr("the token is not valid"));
  EXPECT_THAT(why_refused("e30.e30.e30"), HasSubstr("the token is not valid"));
}

// The API server may vouch for a pod a moment longer than it is there.
TEST_F(TokenCheckTest, APodThatIsGoneSpeaksForNothingNotEvenAsItsSuccessor) {
  const Json pod = make_pod("train", 0);
  const std::string of_the_dead = token(kReportAudience, &pod);
  ASSERT_TRUE(server_.client().remove({}, at(kube::kPods), "train-0-a1", {.grace_period_seconds = 0}));
  look();
  EXPECT_FALSE(check(of_the_dead));
  const Json successor = make_pod("train", 0);
  EXPECT_THAT(why_refused(token(kReportAudience, &successor)), HasSubstr("not known yet")) << "by the cache";
  look();
  EXPECT_TRUE(check(token(kReportAudience, &successor)));
  EXPECT_FALSE(check(of_the_dead));
}

TEST_F(TokenCheckTest, AnAnswerIsRememberedAMinuteAndARefusalTenSeconds) {
  const Json pod = make_pod("train", 0);
  look();
  const std::string good = token(kReportAudience, &pod);
  EXPECT_TRUE(check(good));
  ASSERT_TRUE(server_.client().remove({}, at(kServiceAccounts), "train", {}));
  wait_until_the_server_refuses(good);
  EXPECT_TRUE(check(good)) << "the API server was not asked again";
  clock_.advance(std::chrono::seconds(60));
  const std::string bad = why_refused(good);
  EXPECT_THAT(bad, HasSubstr("the token is not valid"));
  create(kServiceAccounts,
         {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", JsonObject{{"name", "train"}}}});
  const std::string renewed = token(kReportAudience, &pod);
  EXPECT_EQ(why_refused(good), bad);
  clock_.advance(std::chrono::seconds(10));
  EXPECT_THAT(why_refused(good), HasSubstr("the token is not valid")) << "of an account that is gone";
  EXPECT_TRUE(check(renewed));
}

}  // namespace
}  // namespace caravan::controller::testing
