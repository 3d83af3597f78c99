// The reconciler while its caches are behind what it or another leader wrote.
#include "operator/controller/reconciler.h"

#include <gtest/gtest.h>

#include "operator/testing/model_cluster.h"

namespace caravan::controller::testing {
namespace {

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
  FatefulTransport transport_{cluster_.transport(), [](int) { return Fate::kDone; }};
  kube::Client client_ = cluster_.client(transport_);
  caravan::testing::ManualClock clock_;
  int put_off_ = 0;
  std::vector<std::string> told_;
  Reconciler reconciler_{
      cluster_.new_caches(), client_, clock_, settings(),
      Reconciler::Outside{.progress = [](const std::string&) { return std::nullopt; },
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
