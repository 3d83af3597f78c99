// The operator dies at each of its writes, before the write leaves or once it has the answer, or the write or
// its answer is lost: the job of the scenario always ends the same. tests/kube shows it with a real API
// server.
#include <gmock/gmock.h>

#include "operator/testing/crash_scenario.h"
#include "operator/testing/jobs.h"
#include "operator/testing/model_api.h"

namespace caravan::controller::testing {
namespace {

class NoCredentials final : public kube::Credentials {
 public:
  kube::ApiResult<std::string> token() override { return std::string("token"); }
  kube::ApiResult<kube::TlsMaterial> tls() override { return kube::TlsMaterial{}; }
  void forget() override {}
};

class ModelCluster final : public CrashCluster {
 public:
  ModelCluster() { api_.put(kJobs.plural, job_object()); }

  Clock::WallTime begins_at() override { return kStart; }
  kube::Transport& transport() override { return api_; }
  kube::Client client(kube::Transport& through) override {
    return {through, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_};
  }
  Caches new_caches() override {
    settle();
    return {jobs_, pods_, services_, config_maps_, accounts_, network_policies_, nodes_};
  }
  void settle() override {
    api_.fill(jobs_, kJobs.plural);
    api_.fill(pods_, kube::kPods.plural);
    api_.fill(services_, kServices.plural);
    api_.fill(config_maps_, kConfigMaps.plural);
    api_.fill(accounts_, kServiceAccounts.plural);
    api_.fill(network_policies_, kNetworkPolicies.plural);
  }

  kube::Json job() override { return api_.of(kJobs.plural).at("train"); }
  Objects pods() override { return children(kube::kPods); }
  Objects children(const kube::Resource& resource) override { return api_.of(resource.plural); }
  void bind(const std::string& name) override {
    kube::Json pod = pods().at(name);
    pod.as_object()["spec"].as_object()["nodeName"] = "machine";
    api_.put(kube::kPods.plural, pod);
  }
  void mark(const std::string& name, kube::JsonObject status) override {
    kube::Json pod = pods().at(name);
    pod.as_object()["status"] = std::move(status);
    api_.put(kube::kPods.plural, pod);
  }
  void set_suspended(bool suspended) override {
    kube::Json job = this->job();
    job.as_object()["spec"].as_object()["suspend"] = suspended;
    job.as_object()["metadata"].as_object()["generation"] = suspended ? 2 : 3;
    api_.put(kJobs.plural, job);
  }

 private:
  SystemClock clock_;
  NoCredentials credentials_;
  kube::Observer observer_;
  ModelApi api_;
  kube::Store jobs_, pods_, services_, config_maps_, accounts_, network_policies_, nodes_;
};

struct World {
  explicit World(std::function<Fate(int)> fate) : scenario(cluster, std::move(fate)) {}

  std::string run() { return scenario.run(); }
  int writes() const { return scenario.writes(); }
  const std::vector<std::string>& told() const { return scenario.told(); }

  ModelCluster cluster;
  CrashScenario scenario;
};

TEST(Crashes, AnUndisturbedJobCompletesInItsFifthAttempt) {
  World world([](int) { return Fate::kDone; });
  const std::string end = world.run();
  EXPECT_THAT(end, ::testing::HasSubstr(R"("state":"Complete")"));
  EXPECT_THAT(end, ::testing::HasSubstr(R"("attempt":5,"restarts":3)"));
  EXPECT_THAT(end, ::testing::HasSubstr("pods/train-0-a4\npods/train-1-a3\nservices/train"));
}

// Each write meets that fate once.
void expect_the_same_end(Fate fate, const std::string& what) {
  World undisturbed([](int) { return Fate::kDone; });
  const std::string wanted = undisturbed.run();
  ASSERT_GT(undisturbed.writes(), 20);
  for (int victim = 1; victim <= undisturbed.writes(); ++victim) {
    World world([&](int write) { return write == victim ? fate : Fate::kDone; });
    EXPECT_EQ(world.run(), wanted) << "write " << victim << " " << what;
    // After a write that took effect unknown to the operator, nothing is left to tell.
    if (fate != Fate::kLostBefore) continue;
    EXPECT_EQ(world.told(), undisturbed.told()) << "write " << victim << " " << what;
  }
}

TEST(Crashes, AWriteThatIsLostChangesNothingInTheEnd) {
  expect_the_same_end(Fate::kLostBefore, "was lost");
}

TEST(Crashes, AnAnswerThatIsLostChangesNothingInTheEnd) {
  expect_the_same_end(Fate::kReplyLost, "lost its answer");
}

TEST(Crashes, BeforeAWriteChangeNothingInTheEnd) {
  expect_the_same_end(Fate::kDiesBefore, "never left");
}

TEST(Crashes, AfterAnAnswerChangeNothingInTheEnd) {
  expect_the_same_end(Fate::kDiesAfter, "was the last one");
}

// About half of all writes, here and there, the same ones each time.
bool is_unlucky(int write, unsigned seed) {
  return (static_cast<unsigned>(write) * 2654435761U + seed * 40503U) >> 16U & 1U;
}

TEST(Crashes, InHalfOfAllWritesChangeNothingEither) {
  World undisturbed([](int) { return Fate::kDone; });
  const std::string wanted = undisturbed.run();
  for (unsigned seed = 0; seed < 10; ++seed) {
    World world([seed](int write) {
      if (!is_unlucky(write, seed)) return Fate::kDone;
      if (is_unlucky(write, seed + 200))
        return is_unlucky(write, seed + 300) ? Fate::kDiesBefore : Fate::kDiesAfter;
      return is_unlucky(write, seed + 100) ? Fate::kLostBefore : Fate::kReplyLost;
    });
    EXPECT_EQ(world.run(), wanted) << "seed " << seed;
  }
}

}  // namespace
}  // namespace caravan::controller::testing
