// What a reconcile leaves behind when it is cut short, and how much it may do at once.
#include "operator/controller/execute.h"

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "common/testing/turn.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/controller/reconciler.h"
#include "operator/testing/model_cluster.h"
#include "operator/view/pod_view.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kNodesPerSecret = 64;

// How many calls are on their way at once, each of which takes a moment.
class Crowd final : public kube::Transport {
 public:
  explicit Crowd(kube::Transport& next) : next_(next) {}

  kube::ApiResult<kube::HttpResponse> call(const CallContext& context,
                                           const kube::HttpRequest& request) override {
    const int now = ++inside_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) {
    }
    std::this_thread::sleep_for(1ms);
    auto response = next_.call(context, request);
    --inside_;
    return response;
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext& context,
                                                          const kube::HttpRequest& request) override {
    return next_.open(context, request);
  }
  int most() const { return most_; }

 private:
  kube::Transport& next_;
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

// One operator and a cluster with one job.
class World {
 public:
  explicit World(
      int nodes, std::function<Fate(int)> fate = [](int) { return Fate::kDone; })
      : cluster(job_object_of(nodes)), transport(cluster.transport(), std::move(fate)) {}

  // Nothing: it failed.
  std::optional<kube::Action> reconcile(const std::string& name = "train") {
    const auto outcome = reconciler.reconcile({}, {"team", name});
    return outcome ? std::optional(*outcome) : std::nullopt;
  }
  std::optional<kube::Action> settle_and_reconcile() {
    cluster.settle();
    return reconcile();
  }
  std::size_t secrets() { return cluster.children(kSecrets).size(); }
  std::string set_of_the_status() { return kube::text_at(cluster.job(), {"status", "certificates", "set"}); }
  kube::Json plan() { return cluster.children(kConfigMaps).at("train-plan"); }

  ModelCluster cluster;
  FatefulTransport transport;
  Crowd crowd{transport};
  kube::Client client = cluster.client(crowd);
  caravan::testing::ManualClock clock;
  std::mutex mutex;
  std::vector<std::string> told;
  Reconciler reconciler{
      cluster.new_caches(), client, clock, settings(),
      Reconciler::Outside{.progress = [](const std::string&) { return std::nullopt; },
                          .forget = [](const std::string&) {},
                          .record =
                              [this](const Job&, const Note& note) {
                                const std::scoped_lock lock(mutex);
                                told.push_back(note.reason);
                              },
                          .decided = [](const Snapshot&, const Decision&, Clock::Duration) {},
                          .put_off = [] {},
                          .ask_for_checkpoint = [](const std::string&, const std::string&) {}}};
};

TEST(Certificates, OfAJobThatChangesAllTheTimeAreMadeOnce) {
  World world(3 * kNodesPerSecret);
  for (int i = 0; i < 4; ++i) {
    world.cluster.settle();
    world.cluster.annotate_job();
    ASSERT_TRUE(world.reconcile());
    EXPECT_EQ(world.set_of_the_status(), "") << "the status is refused";
    EXPECT_EQ(world.secrets(), 3U) << "after " << i + 1 << " refused writes";
  }
  ASSERT_TRUE(world.settle_and_reconcile());
  EXPECT_EQ(world.secrets(), 3U);
  EXPECT_THAT(world.cluster.children(kSecrets),
              ::testing::Each(::testing::Key(HasSubstr(world.set_of_the_status()))));
  EXPECT_THAT(world.cluster.pods(), SizeIs(3 * kNodesPerSecret));
}

TEST(Certificates, AreGoneOnWithWhereACallFailedOrLostItsAnswer) {
  for (const Fate fate : {Fate::kLostBefore, Fate::kReplyLost}) {
    World world(3 * kNodesPerSecret, [fate](int write) { return write == 2 ? fate : Fate::kDone; });
    EXPECT_FALSE(world.reconcile());
    EXPECT_EQ(world.set_of_the_status(), "");
    world.settle_and_reconcile();
    EXPECT_EQ(world.secrets(), 3U);
    EXPECT_NE(world.set_of_the_status(), "");
  }
}

TEST(Certificates, OfASetThatIsInUseAreNeverThoseOfTheNext) {
  World world(2);
  ASSERT_TRUE(world.reconcile());
  const std::string first = world.set_of_the_status();
  for (const auto& [name, pod] : world.cluster.pods()) world.cluster.mark(name, {{"phase", "Failed"}});
  world.clock.advance(std::chrono::hours(24 * 400));
  for (int i = 0; i < 3; ++i) world.settle_and_reconcile();
  EXPECT_NE(world.set_of_the_status(), first);
  EXPECT_EQ(world.secrets(), 2U);
}

TEST(Certificates, ThatSomebodyHasDeletedAreMadeAnewForThePodsThatWouldWaitForThem) {
  World world(2);
  ASSERT_TRUE(world.reconcile());
  const std::string first = world.set_of_the_status();
  world.cluster.mark("train-1-a1", {{"phase", "Failed"}});
  ASSERT_TRUE(world.settle_and_reconcile());
  EXPECT_EQ(world.set_of_the_status(), first) << "it is there";
  world.cluster.delete_secrets();
  for (const auto& [name, pod] : world.cluster.pods()) world.cluster.mark(name, {{"phase", "Failed"}});
  for (int i = 0; i < 4; ++i) {
    world.clock.advance(std::chrono::minutes(10));
    world.settle_and_reconcile();
  }
  EXPECT_NE(world.set_of_the_status(), first);
  EXPECT_EQ(world.secrets(), 1U);
  EXPECT_THAT(world.told, Contains(reasons::kCertificatesLost));
  for (const auto& [name, pod] : world.cluster.pods())
    EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kCertificates}), world.set_of_the_status())
        << name;
}

TEST(Batches, SecretsOfALargeJobAreMadeInSeveral) {
  CARAVAN_BY_TURNS();
  World world((Executor::kSecretsInABatch + 1) * kNodesPerSecret);
  EXPECT_EQ(world.reconcile()->requeue_after, 0ms) << "at once, but after the jobs that wait";
  EXPECT_EQ(world.secrets(), std::size_t{Executor::kSecretsInABatch});
  EXPECT_NE(kube::text_at(world.cluster.job(), {"status", "plan", "document"}), "")
      << "it is not planned again for each batch";
  EXPECT_THAT(world.cluster.pods(), IsEmpty());
  world.settle_and_reconcile();
  EXPECT_EQ(world.secrets(), std::size_t{Executor::kSecretsInABatch + 1});
  EXPECT_THAT(world.cluster.pods(), SizeIs(Executor::kPodsInABatch));
}

TEST(Batches, ThatEndAtTheSecretsHaveNotWrittenThePlan) {
  World world((Executor::kSecretsInABatch + 1) * kNodesPerSecret);
  Settings before = settings();
  before.reports_authority = "of an operator that was here before";
  world.cluster.put_plan(plan_intent(read_job(world.cluster.job()), "{}", before));
  world.settle_and_reconcile();
  world.settle_and_reconcile();
  EXPECT_NE(kube::text_at(world.plan(), {"data", kPlanKey}), "{}");
  EXPECT_THAT(world.told, Not(Contains(reasons::kPlanRepaired))) << "nobody else has changed it";
}

TEST(Batches, PodsOfALargeJobAreMadeAndDeletedInSeveral) {
  CARAVAN_BY_TURNS();
  constexpr int kNodes = Executor::kPodsInABatch + 10;
  World world(kNodes);
  EXPECT_EQ(world.reconcile()->requeue_after, 0ms);
  EXPECT_THAT(world.cluster.pods(), SizeIs(Executor::kPodsInABatch));
  EXPECT_NE(world.settle_and_reconcile()->requeue_after, 0ms);
  EXPECT_THAT(world.cluster.pods(), SizeIs(kNodes));
  world.cluster.set_suspended(true);
  EXPECT_EQ(world.settle_and_reconcile()->requeue_after, 0ms);
  EXPECT_THAT(world.cluster.pods(), SizeIs(10));
  EXPECT_NE(world.settle_and_reconcile()->requeue_after, 0ms);
  EXPECT_THAT(world.cluster.pods(), IsEmpty());
}

TEST(Batches, OfManyJobsAtOnceLeaveConnectionsToOthers) {
  constexpr int kWorkers = 16;
  World world(100);
  for (int i = 0; i < kWorkers; ++i) {
    kube::Json job = job_object_of(100);
    auto& metadata = job.as_object()["metadata"].as_object();
    metadata["name"] = fmt::format("job-{}", i);
    metadata["uid"] = fmt::format("uid-of-{}", i);
    world.cluster.add_job(job);
  }
  world.cluster.settle();
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < kWorkers; ++i)
      workers.emplace_back([&world, i] { world.reconcile(fmt::format("job-{}", i)); });
  }
  EXPECT_THAT(world.cluster.pods(), SizeIs(100 * kWorkers));
  EXPECT_LE(world.crowd.most(), kWorkers + Executor::kHelpers);
  EXPECT_GT(world.crowd.most(), kWorkers) << "there are helpers";
}

TEST(Deletions, OfPodsThatHaveNoMachineLeaveTheOneThatHasGotItMeanwhile) {
  World world(2);
  ASSERT_TRUE(world.reconcile());
  const Job job = read_job(world.cluster.job());
  Decision decision{.status = job.status};
  for (const auto& [name, pod] : world.cluster.pods()) {
    const PodView view = read_pod(pod);
    decision.effects.emplace_back(DeletePod{view.name, view.uid, view.version});
  }
  world.cluster.bind("train-0-a1");
  kube::OwnWrites writes;
  Executor executor(
      world.client, writes, world.clock, settings(), [](const Job&, const Note&) {},
      [](const std::string&, const std::string&) {}, [](const std::string&) {});
  EXPECT_TRUE(executor.run({}, job, decision) == Extent::kWhole) << "the others do not wait for a fresh look";
  EXPECT_THAT(world.cluster.pods(), ElementsAre(::testing::Key("train-0-a1")));
  const std::string left = kube::uid_of(world.cluster.pods().at("train-0-a1"));
  EXPECT_TRUE(writes.seen(job.uid,
                          {.resource_version = [](const std::string&) { return std::string(); },
                           .holds = [&](const std::string& uid) { return uid == left; }},
                          world.clock.now()))
      << "its next look is not put off until it is gone";
}

// Both change while a job is suspended.
TEST(PodGroups, FollowTheQueueAndThePriorityOfTheirJob) {
  World world(2);
  const auto change = [&](const char* queue, kube::JsonObject worker, bool suspend) {
    kube::Json job = world.cluster.job();
    auto& spec = job.as_object()["spec"].as_object();
    spec["scheduling"] = kube::JsonObject{{"gang", {{"provider", "Volcano"}}}, {"queue", queue}};
    spec["worker"] = std::move(worker);
    spec["suspend"] = suspend;
    world.cluster.add_job(job);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(world.settle_and_reconcile());
  };
  const auto spec = [&] {
    return world.cluster.children(kVolcanoPodGroups).at("train").at("spec").as_object();
  };
  change("silver", {{"priorityClassName", "high"}}, false);
  ASSERT_THAT(world.cluster.pods(), SizeIs(2));
  EXPECT_EQ(spec()["queue"], "silver");
  change("gold", {}, true);
  ASSERT_THAT(world.cluster.pods(), IsEmpty());
  change("gold", {}, false);
  ASSERT_THAT(world.cluster.pods(), SizeIs(2));
  EXPECT_EQ(spec()["queue"], "gold");
  EXPECT_EQ(spec()["priorityClassName"], "");
  const kube::Json before = world.cluster.children(kVolcanoPodGroups).at("train");
  change("gold", {}, true);
  change("gold", {}, false);
  ASSERT_THAT(world.cluster.pods(), SizeIs(2));
  EXPECT_EQ(world.cluster.children(kVolcanoPodGroups).at("train"), before) << "there was nothing to write";
}

TEST(NetworkPolicies, StayWhereTheServerRefusesTheirChange) {
  World world(2);
  Settings before = settings();
  before.name_servers.clear();
  kube::Json policy = network_policy_intent(read_job(world.cluster.job()), before);
  policy.as_object()["immutable"] = true;  // by which the model refuses a change as invalid
  ASSERT_TRUE(world.client.create({}, {.resource = kNetworkPolicies, .name_space = "team"}, policy));
  const kube::Json there = world.cluster.children(kNetworkPolicies).at("train");
  world.cluster.settle();
  const auto outcome = world.reconciler.reconcile({}, {"team", "train"});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("Invalid"));
  EXPECT_EQ(world.cluster.children(kNetworkPolicies).at("train"), there);
  EXPECT_THAT(world.cluster.pods(), SizeIs(2)) << "they do not wait for it";
}

class PlanRepair : public ::testing::Test {
 protected:
  PlanRepair() : world_(2, [this](int) { return fate_; }) {
    world_.reconcile();
    world_.settle_and_reconcile();
    world_.cluster.settle();
    world_.told.clear();
  }

  // Another content, which says of itself that the operator wrote it.
  void forge(bool immutable) {
    kube::Json forged = world_.plan();
    auto& object = forged.as_object();
    object["data"].as_object()[kPlanKey] = "{}";
    object["metadata"].as_object()["annotations"].as_object()[annotations::kContent] = fingerprint_of(forged);
    if (immutable) object["immutable"] = true;
    world_.cluster.put_plan(forged);
  }

  Fate fate_ = Fate::kDone;
  World world_;
};

TEST_F(PlanRepair, IsToldAlsoWhenTheForgerWroteTheFingerprintToo) {
  const std::string right = fingerprint_of(world_.plan());
  forge(false);
  world_.settle_and_reconcile();
  EXPECT_EQ(fingerprint_of(world_.plan()), right);
  EXPECT_THAT(world_.told, ElementsAre(reasons::kPlanRepaired));
}

TEST_F(PlanRepair, ReplacesWhatCannotBeChangedAnyMore) {
  const std::string right = fingerprint_of(world_.plan());
  const std::string before = kube::uid_of(world_.plan());
  forge(true);
  world_.settle_and_reconcile();
  EXPECT_EQ(fingerprint_of(world_.plan()), right);
  EXPECT_NE(kube::uid_of(world_.plan()), before);
  EXPECT_EQ(kube::find(world_.plan(), {"immutable"}), nullptr);
  EXPECT_THAT(world_.told, ElementsAre(reasons::kPlanRepaired));
  EXPECT_EQ(world_.settle_and_reconcile()->requeue_after, std::nullopt) << "there is nothing left to do";
}

TEST_F(PlanRepair, IsToldOnceItIsMade) {
  forge(false);
  world_.cluster.settle();
  fate_ = Fate::kLostBefore;
  EXPECT_FALSE(world_.reconcile());
  EXPECT_THAT(world_.told, Not(Contains(reasons::kPlanRepaired)));
}

TEST_F(PlanRepair, IsToldWhenThePlanWasTakenAway) {
  const std::string right = fingerprint_of(world_.plan());
  world_.cluster.delete_plan();
  world_.settle_and_reconcile();
  EXPECT_EQ(fingerprint_of(world_.plan()), right);
  EXPECT_THAT(world_.told, ElementsAre(reasons::kPlanRepaired));
}

}  // namespace
}  // namespace caravan::controller::testing
