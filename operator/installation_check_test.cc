// What `caravan-operator check` finds of an installation.
#include "operator/installation_check.h"

#include <gmock/gmock.h>

#include "common/testing/manual_clock.h"
#include "kube/election/election.h"
#include "operator/testing/model_cluster.h"

namespace caravan::controller::testing {
namespace {

using kube::Json;
using kube::JsonObject;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JsonObject named() {
  return {{"name", "caravan-operator"}, {"namespace", "caravan-system"}};
}

Json deployment(int ready) {
  return JsonObject{{"metadata", named()}, {"status", JsonObject{{"readyReplicas", ready}}}};
}

Json lease(const std::string& holder) {
  return JsonObject{{"metadata", named()}, {"spec", JsonObject{{"holderIdentity", holder}}}};
}

TEST(InstallationCheck, SaysWhatIsMissing) {
  struct Case {
    Json deployment;
    Json lease;
    const char* missing;
  };
  const Case cases[] = {
      {{}, {}, "there is no Deployment caravan-operator"},
      {JsonObject{{"metadata", named()}}, lease("a"), "no operator is ready"},
      {deployment(0), lease("a"), "no operator is ready"},
      {deployment(2), {}, "no operator leads: the Lease caravan-operator has no holder"},
      {deployment(2), lease(""), "no operator leads: the Lease caravan-operator has no holder"},
      {deployment(2), lease(kube::kUnknownHolder),
       "no operator leads: the Lease caravan-operator has no holder"},
      {deployment(1), lease("a"), ""},
  };
  for (const Case& c : cases) EXPECT_EQ(what_is_missing(c.deployment, c.lease), c.missing);
}

class CheckOfACluster : public ::testing::Test {
 protected:
  void install(int ready, const std::string& holder) {
    api_.put("deployments", deployment(ready));
    api_.put("leases", lease(holder));
  }
  Result<std::string> check(kube::Client& client) {
    return check_installation(client, clock_, {.patience = std::chrono::seconds(0)});
  }

  caravan::testing::ManualClock clock_;
  NoCredentials credentials_;
  kube::Observer observer_;
  ModelApi api_;
  kube::Client client_{api_, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_};
};

TEST_F(CheckOfACluster, TriesAJobOutAndKeepsNone) {
  install(2, "a");
  const auto found = check(client_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "an operator leads in caravan-system, and the API server takes jobs");
  EXPECT_THAT(api_.of(kJobs.plural), IsEmpty());
}

TEST_F(CheckOfACluster, SaysWhereToLookWhenNoOperatorGetsReady) {
  install(0, "");
  const auto found = check(client_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no operator is ready after 0 s"));
  EXPECT_THAT(found.error().message, HasSubstr("kubectl -n caravan-system logs deployment/caravan-operator"));
}

TEST_F(CheckOfACluster, AsksForTheJobServiceWhereThereIsToBeOne) {
  install(2, "a");
  EXPECT_TRUE(check(client_));
  const CheckOptions options{.has_service = true, .patience = std::chrono::seconds(0)};
  const auto without = check_installation(client_, clock_, options);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("no replica of the job service is ready after 0 s"));
  EXPECT_THAT(without.error().message,
              HasSubstr("kubectl -n caravan-system logs deployment/caravan-service"));
  api_.put("deployments", JsonObject{{"metadata", JsonObject{{"name", "caravan-service"}}},
                                     {"status", JsonObject{{"readyReplicas", 1}}}});
  EXPECT_TRUE(check_installation(client_, clock_, options));
}

// As a server whose policy refuses every job.
class TakesNoJobs final : public kube::Transport {
 public:
  explicit TakesNoJobs(ModelApi& api) : api_(api) {}
  kube::ApiResult<kube::HttpResponse> call(const CallContext& context,
                                           const kube::HttpRequest& request) override {
    if (request.method != "POST") return api_.call(context, request);
    return kube::HttpResponse{.head = {.status = 403},
                              .body = R"({"reason":"Forbidden","message":"no jobs here"})"};
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext& context,
                                                          const kube::HttpRequest& request) override {
    return api_.open(context, request);
  }

 private:
  ModelApi& api_;
};

TEST_F(CheckOfACluster, SaysInTheServersWordsWhyAJobIsNotTaken) {
  install(2, "a");
  TakesNoJobs server(api_);
  kube::Client client(
      server, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_);
  const auto found = check(client);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("the API server does not take a job: POST"));
  EXPECT_THAT(found.error().message, HasSubstr("no jobs here"));
}

}  // namespace
}  // namespace caravan::controller::testing
