// The reconciler while its caches are behind what it or another leader wrote.
#include "operator/controller/reconciler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operator/children/pod_placement.h"
#include "operator/testing/model_cluster.h"
#include "operator/testing/settable_clock.h"

namespace caravan::controller::testing {
namespace {

// An API server whose definition of jobs may be older than the operator.
class OlderDefinition final : public kube::Transport {
 public:
  explicit OlderDefinition(kube::Transport& next) : next_(next) {}

  kube::ApiResult<kube::HttpResponse> call(const CallContext& context,
                                           const kube::HttpRequest& request) override {
    if (lacks_field && request.target.find("/status?") != std::string::npos)
      return kube::HttpResponse{.head = {.status = 500}, .body = R"({"kind": "Status", "code": 500, "message":
          "failed to create typed patch object (team/train): .status.later: field not declared in schema"})"};
    return next_.call(context, request);
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext& context,
                                                          const kube::HttpRequest& request) override {
    return next_.open(context, request);
  }
  bool lacks_field = false;

 private:
  kube::Transport& next_;
};

class ReconcilerTest : public ::testing::Test {
 protected:
  explicit ReconcilerTest(const kube::Json& job = job_object()) : cluster_(job) { transport_.start_sender(); }

  // How many writes it made.
  int reconcile() {
    const int before = transport_.writes();
    EXPECT_TRUE(reconciler_.reconcile({}, kube::key_of(cluster_.job())));
    return transport_.writes() - before;
  }

  ModelCluster cluster_;
  std::function<Fate(int)> fate_ = [](int) { return Fate::kDone; };  // of the write of that number
  OlderDefinition api_{cluster_.transport()};
  FatefulTransport transport_{api_, [this](int write) { return fate_(write); }};
  kube::Client client_ = cluster_.client(transport_);
  SettableClock clock_;
  int put_off_ = 0;
  std::function<void()> meanwhile_ = [] {};  // once a job is observed, before it is decided on
  std::optional<JobProgress> progress_;
  std::vector<std::string> told_;
  Reconciler reconciler_{
      cluster_.new_caches(), client_, clock_, settings(),
      Reconciler::Outside{.progress =
                              [this](const std::string&) {
                                meanwhile_();
                                return progress_;
                              },
                          .forget = [](const std::string&) {},
                          .record = [this](const Job&, const Note& note) { told_.push_back(note.reason); },
                          .decided = [](const Snapshot&, const Decision&, Clock::Duration) {},
                          .put_off = [this] { ++put_off_; },
                          .ask_for_checkpoint = [](const std::string&, const std::string&) {}}};
};

TEST_F(ReconcilerTest, MakesNothingTwiceWhileACacheHasNotSeenIt) {
  EXPECT_GT(reconcile(), 2);
  cluster_.settle_all_but_pods();
  EXPECT_EQ(reconcile(), 0);
  EXPECT_EQ(put_off_, 1);
  cluster_.settle();
  reconcile();
  EXPECT_EQ(put_off_, 1);
  EXPECT_EQ(cluster_.pods().size(), 2U);
}

TEST_F(ReconcilerTest, DeletesNoPodTwiceWhileTheCacheStillHasIt) {
  reconcile();
  cluster_.set_suspended(true);
  cluster_.settle();
  EXPECT_EQ(reconcile(), 3) << "the status and two pods";
  cluster_.settle_all_but_pods();
  EXPECT_EQ(reconcile(), 0);
  EXPECT_EQ(put_off_, 1);
  cluster_.settle();
  EXPECT_EQ(reconcile(), 0);
  EXPECT_EQ(put_off_, 1);
}

TEST_F(ReconcilerTest, TouchesNothingOfAJobThatItCannotReadAndSaysSo) {
  reconcile();
  cluster_.set_status({{"attempt", "many"}});
  cluster_.settle();
  told_.clear();
  const int before = transport_.writes();
  const auto outcome = reconciler_.reconcile({}, kube::key_of(cluster_.job()));
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().terminal) << "the next change of the job comes first";
  EXPECT_EQ(outcome.error().message,
            "its status cannot be read: attempt: expected a whole number of 32 bits; what runs goes on, and "
            "nothing is changed until it can be read");
  EXPECT_EQ(transport_.writes(), before);
  EXPECT_EQ(told_, std::vector<std::string>{reasons::kUnreadable});
}

TEST_F(ReconcilerTest, TellsByAnEventThatTheDefinitionIsTooOldForItsStatus) {
  api_.lacks_field = true;
  const auto outcome = reconciler_.reconcile({}, kube::key_of(cluster_.job()));
  ASSERT_FALSE(outcome);
  EXPECT_FALSE(outcome.error().terminal);
  EXPECT_THAT(
      outcome.error().message,
      ::testing::HasSubstr(".status.later: field not declared in schema; the definition of that resource "
                           "is older than this operator"));
  EXPECT_EQ(told_, std::vector<std::string>{"StatusRefused"});
  api_.lacks_field = false;
  cluster_.settle();
  reconcile();
  const kube::Json job = cluster_.job();
  const kube::Json* scheduled =
      kube::find_condition(kube::array_at(job, {"status", "conditions"}), conditions::kScheduled);
  ASSERT_NE(scheduled, nullptr);
  EXPECT_THAT(kube::text_at(*scheduled, {"message"}), ::testing::Not(::testing::HasSubstr("schema")))
      << "it is written now";
}

TEST_F(ReconcilerTest, TellsOnceAnHourThatAStatusIsRefused) {
  using namespace std::chrono_literals;
  const auto told_after_three_tries = [this] {
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(reconciler_.reconcile({}, kube::key_of(cluster_.job())));
    return std::ranges::count(told_, std::string(reasons::kStatusRefused));
  };
  api_.lacks_field = true;
  EXPECT_EQ(told_after_three_tries(), 1);
  clock_.hand().advance(1h);
  EXPECT_EQ(told_after_three_tries(), 2);

  api_.lacks_field = false;
  reconcile();
  cluster_.set_suspended(true);
  cluster_.settle();
  api_.lacks_field = true;
  EXPECT_EQ(told_after_three_tries(), 3) << "one was written meanwhile";
}

TEST_F(ReconcilerTest, WithAnOlderPictureNeitherErasesAnEndNorLowersAnAttempt) {
  reconcile();
  cluster_.settle();
  const kube::JsonObject end{{"state", "Complete"}, {"attempt", 3}, {"restarts", 2}};
  cluster_.set_status(end);  // by another leader
  for (const auto& [name, pod] : cluster_.pods()) cluster_.bind(name);
  cluster_.settle_pods();
  EXPECT_EQ(reconcile(), 1) << "the status, which is refused, and nothing that follows from it";
  EXPECT_EQ(*kube::find(cluster_.job(), {"status"}), kube::Json(end));
  EXPECT_EQ(put_off_, 1) << "no error: it is decided again";
  cluster_.settle();
  reconcile();
  EXPECT_EQ(kube::integer_at(cluster_.job(), {"status", "attempt"}), 3);
}

// Of the pod nothing is left, and its coordinator may not have heard of this operator yet.
TEST_F(ReconcilerTest, WaitsAsLongForTheWordOfALossWhereTheWallClockIsSetBack) {
  using namespace std::chrono_literals;
  reconcile();
  for (const auto& [name, pod] : cluster_.pods()) {
    cluster_.bind(name);
    cluster_.mark(name, {{"phase", "Running"}});
  }
  progress_ = JobProgress{.attempt = 1};
  cluster_.settle();
  reconcile();
  clock_.set(clock_.wall_now() - 1h);
  EXPECT_TRUE(client_.remove({}, {.resource = kube::kPods, .name_space = "team"}, "train-1-a1", {}));
  clock_.hand().advance(119s);
  cluster_.settle();
  reconcile();
  EXPECT_EQ(cluster_.pods().size(), 1U) << "a word may follow";
  clock_.hand().advance(1s);
  cluster_.settle();
  reconcile();
  EXPECT_TRUE(cluster_.pods().contains("train-1-a2"));
}

TEST_F(ReconcilerTest, LeavesAJobThatWasMadeAnewAlone) {
  reconcile();
  cluster_.settle();
  cluster_.make_anew();
  for (const auto& [name, pod] : cluster_.pods()) cluster_.bind(name);
  cluster_.settle_pods();
  reconcile();
  EXPECT_EQ(kube::find(cluster_.job(), {"status"}), nullptr);
  EXPECT_EQ(put_off_, 1);
}

kube::Json job_in_a_rack(const std::string& name, const std::string& uid) {
  return job_object(R"(, "parallelism": {"mode": "Manual", "tensor": 2, "pipeline": 2, "data": 1},
      "worker": {"resources": {"cpu": "8"}},
      "scheduling": {"topology": {"mode": "Required", "key": "rack"}})",
                    name, uid);
}

kube::Json node_in_a_rack(const std::string& name, const std::string& rack) {
  return kube::parse_json(
             fmt::format(
                 R"({{"metadata": {{"name": "{0}", "labels": {{"rack": "{1}", "kubernetes.io/hostname": "{0}"}}}},
      "status": {{"allocatable": {{"cpu": "8", "ephemeral-storage": "1Ti"}},
                  "conditions": [{{"type": "Ready", "status": "True"}}]}}}})",
                 name, rack),
             "node")
      .value();
}

const std::string kFirst = domain_name({{"rack", "r1"}});
const std::string kSecond = domain_name({{"rack", "r2"}});

// Two jobs of two pods each, and two racks of two nodes.
class RackReconcilerTest : public ReconcilerTest {
 protected:
  RackReconcilerTest() : ReconcilerTest(job_in_a_rack("train", "1")) {
    cluster_.add_job(job_in_a_rack("other", "2"));
    for (const auto& [node, rack] :
         {std::pair{"a", "r1"}, std::pair{"b", "r1"}, std::pair{"c", "r2"}, std::pair{"d", "r2"}})
      cluster_.add_node(node_in_a_rack(node, rack));
    cluster_.settle();
  }

  using Domains = std::set<std::string>;

  bool reconcile_other() { return reconciler_.reconcile({}, {"team", "other"}).has_value(); }

  // Those for which pods were made.
  Domains domains() {
    Domains domains;
    for (const auto& [name, pod] : cluster_.pods())
      domains.insert(kube::text_at(pod, {"metadata", "labels", labels::kTopologyDomain}));
    return domains;
  }
};

TEST_F(RackReconcilerTest, GivesJobsThatComeAtOnceRacksOfTheirOwn) {
  reconcile();
  ASSERT_EQ(domains(), Domains({kFirst}));
  EXPECT_TRUE(reconcile_other());  // before a cache holds a pod of the first
  EXPECT_EQ(cluster_.pods().size(), 4U);
  EXPECT_EQ(domains(), Domains({kFirst, kSecond}));
  EXPECT_EQ(put_off_, 0);
}

TEST_F(RackReconcilerTest, ChoosesAgainAtOnceWhereAnotherJobClaimedTheRackMeanwhile) {
  bool is_to_come = true;
  meanwhile_ = [&] {
    if (std::exchange(is_to_come, false)) {
      EXPECT_TRUE(reconcile_other());
    }
  };
  reconcile();
  EXPECT_EQ(cluster_.pods().size(), 4U);
  EXPECT_EQ(domains(), Domains({kFirst, kSecond}));
  EXPECT_EQ(put_off_, 0);
}

TEST_F(RackReconcilerTest, LeavesARackForWhichItCouldMakeNoPodsToOthers) {
  fate_ = [](int) { return Fate::kLostBefore; };
  EXPECT_FALSE(reconciler_.reconcile({}, kube::key_of(cluster_.job())));
  fate_ = [](int) { return Fate::kDone; };
  EXPECT_TRUE(reconcile_other());
  EXPECT_EQ(domains(), Domains({kFirst}));
}

TEST_F(RackReconcilerTest, KeepsARackForWhichItCouldMakeSomePods) {
  const auto is_half_made = [this] { return cluster_.pods().size() == 1; };
  fate_ = [&](int) { return is_half_made() ? Fate::kLostBefore : Fate::kDone; };
  EXPECT_FALSE(reconciler_.reconcile({}, kube::key_of(cluster_.job())));
  ASSERT_TRUE(is_half_made());
  fate_ = [](int) { return Fate::kDone; };
  EXPECT_TRUE(reconcile_other());
  EXPECT_EQ(domains(), Domains({kFirst, kSecond}));
}

class QueuedReconcilerTest : public ReconcilerTest {
 protected:
  QueuedReconcilerTest()
      : ReconcilerTest(job_object(R"(, "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq"})")) {}

  void tell(const char* evicted) {
    const auto condition = [](const char* type, const char* status) {
      return kube::JsonObject{{"type", type}, {"status", status}, {"reason", "r"}, {"message", "m"}};
    };
    cluster_.tell_workload("ltj-train", {{"conditions", kube::JsonArray{condition("QuotaReserved", "True"),
                                                                        condition("Admitted", "True"),
                                                                        condition("Evicted", evicted)}}});
  }
};

// Two copies of the model on two nodes each.
class QueuedRackReconcilerTest : public ReconcilerTest {
 protected:
  QueuedRackReconcilerTest()
      : ReconcilerTest(
            job_object(R"(, "parallelism": {"mode": "Manual", "tensor": 1, "pipeline": 2, "data": 2},
      "resources": {"devices": 4, "devicesPerNode": 1, "device": {"kind": "CPU", "memory": "4Gi"}},
      "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq",
                     "topology": {"mode": "Required", "key": "rack"}})")) {}

  std::string host_of(const std::string& pod) {
    return kube::text_at(cluster_.pods().at(pod), {"spec", "nodeSelector", "kubernetes.io/hostname"});
  }
};

TEST_F(QueuedRackReconcilerTest, KeepsCopiesInTheRacksOfTheHostsThatTheQueueNames) {
  for (const auto& [node, rack] :
       {std::pair{"a", "r1"}, std::pair{"b", "r2"}, std::pair{"c", "r1"}, std::pair{"d", "r2"}})
    cluster_.add_node(node_in_a_rack(node, rack));
  reconcile();
  const auto admitted = kube::parse_json(R"({
      "conditions": [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}],
      "admission": {"podSetAssignments": [{"name": "worker", "topologyAssignment": {
          "levels": ["kubernetes.io/hostname"],
          "slices": [{"domainCount": 4, "podCounts": {"universal": 1},
                      "valuesPerLevel": [{"individual": {"roots": ["a", "b", "c", "d"]}}]}]}}]}})",
                                         "status");
  cluster_.tell_workload("ltj-train", admitted->as_object());
  cluster_.settle();
  reconcile();
  ASSERT_EQ(cluster_.pods().size(), 4U);
  EXPECT_EQ(host_of("train-0-a1") + host_of("train-2-a1"), "ac");
  EXPECT_EQ(host_of("train-1-a1") + host_of("train-3-a1"), "bd");
}

TEST_F(QueuedReconcilerTest, MakesPodsOfAJobThatIsAdmittedAndNotBefore) {
  reconcile();
  EXPECT_EQ(cluster_.children(kWorkloads).size(), 1U);
  EXPECT_TRUE(cluster_.pods().empty());
  cluster_.settle();
  tell("False");
  cluster_.settle();
  reconcile();
  EXPECT_EQ(cluster_.pods().size(), 2U);
}

TEST_F(QueuedReconcilerTest, DecidesAgainWhereTheQueueHasWrittenMeanwhile) {
  reconcile();
  tell("False");
  cluster_.settle();
  tell("True");  // which the cache has not seen
  reconcile();
  EXPECT_TRUE(cluster_.pods().empty()) << "it is evicted";
  EXPECT_EQ(put_off_, 1);
  cluster_.settle();
  reconcile();
  EXPECT_TRUE(cluster_.pods().empty());
  EXPECT_EQ(kube::text_at(cluster_.job(), {"status", "gang", "workload"}), "ltj-train");
}

TEST_F(QueuedReconcilerTest, TakesItsOwnDeletionOfAWorkloadForNobodyElses) {
  reconcile();
  cluster_.settle();
  reconcile();
  cluster_.set_suspended(true);
  cluster_.settle();
  EXPECT_EQ(reconcile(), 2) << "the status and the Workload";
  EXPECT_TRUE(cluster_.children(kWorkloads).empty());
  cluster_.set_suspended(false);
  cluster_.settle_all_but_pods();  // the Workload, too, stays in the cache
  EXPECT_EQ(reconcile(), 0);
  cluster_.settle();
  reconcile();
  EXPECT_EQ(cluster_.children(kWorkloads).size(), 1U) << "the job is queued anew";
}

}  // namespace
}  // namespace caravan::controller::testing
