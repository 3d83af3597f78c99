// A job in a queue of Kueue: what it does with each thing that the queue may say.
#include "operator/controller/queue_policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "operator/api/cancellation.h"
#include "operator/api/conditions.h"
#include "operator/children/pod_placement.h"
#include "operator/controller/decide.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/queue_grant.h"
#include "operator/testing/workloads.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "create workloads/ltj-train", "pod 0", "delete train-0-a1", ...; children other than pods and Workloads are
// left out.
std::vector<std::string> effects_of(const Decision& decision) {
  std::vector<std::string> names;
  for (const Effect& effect : decision.effects) {
    if (const auto* e = std::get_if<CreateChild>(&effect); e && e->resource == kWorkloads)
      names.push_back("create workloads/" + kube::key_of(e->object).name);
    if (const auto* e = std::get_if<MergeStatus>(&effect)) names.push_back("tell " + e->name);
    if (const auto* e = std::get_if<DeleteChild>(&effect)) names.push_back("delete " + e->name);
    if (const auto* e = std::get_if<CreatePod>(&effect)) names.push_back(fmt::format("pod {}", e->node));
    if (const auto* e = std::get_if<DeletePod>(&effect)) names.push_back("delete " + e->name);
  }
  return names;
}

// "False Pending: ..."
std::string condition(const v1alpha1::JobStatus& status, const char* type) {
  const v1alpha1::Condition* found = find_condition(status, type);
  return found == nullptr ? "" : fmt::format("{} {}: {}", found->status(), found->reason(), found->message());
}

// Of a patch: "QuotaReserved=False Pending" for each condition.
std::vector<std::string> told_conditions(const kube::Json& patch) {
  std::vector<std::string> told;
  for (const kube::Json& each : patch.at("status").at("conditions").as_array())
    told.push_back(fmt::format("{}={} {}", kube::text_at(each, {"type"}), kube::text_at(each, {"status"}),
                               kube::text_at(each, {"reason"})));
  return told;
}

const kube::Json& patch_of(const Decision& decision) {
  static const kube::Json kNone;
  for (const Effect& effect : decision.effects) {
    if (const auto* merge = std::get_if<MergeStatus>(&effect)) return merge->patch;
  }
  return kNone;
}

// Decides, and remembers the status.
Decision next(Snapshot& snapshot, TimePoint now = kStart) {
  Decision decision = decide(snapshot, settings(), now);
  snapshot.job.status = decision.status;
  return decision;
}

// Admitted, and both pods run.
Snapshot running_in_queue() {
  Snapshot snapshot = queued_job();
  next(snapshot);
  snapshot.queue.workload = admitted_workload();
  next(snapshot);
  snapshot.job.status.mutable_certificates()->set_set(kCertificates);
  snapshot.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
  know_children(snapshot);
  snapshot.pods = {running_pod(0), running_pod(1)};
  snapshot.progress = JobProgress{.attempt = 1};
  next(snapshot);
  return snapshot;
}

WorkloadView evicted_workload(const char* reason = "Preempted") {
  return workload({{"QuotaReserved", "True", "QuotaReserved"},
                   {"Admitted", "True", "Admitted"},
                   {"PodsReady", "True", "Started"},
                   {"Evicted", "True", reason}});
}

TEST(QueuePolicy, AJobWaitsWithoutPodsUntilItIsAdmittedAndThenGoesWhereTheQueueSays) {
  Snapshot snapshot = queued_job();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
  EXPECT_EQ(snapshot.job.status.state(), "Queued");
  EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved),
              HasSubstr("False Pending: workload ltj-train is handed to queue lq"));

  snapshot.queue.workload = workload({{"QuotaReserved", "False", "Pending"}});
  snapshot.queue.has_positions = true;
  snapshot.queue.position = 2;
  const Decision waits = next(snapshot);
  EXPECT_THAT(effects_of(waits), IsEmpty());
  EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved),
            "False Pending: told of QuotaReserved; it is number 3 in its queue");
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled), HasSubstr("False WaitingForQuota: "));
  EXPECT_EQ(snapshot.job.status.gang().workload(), "ltj-train");
  EXPECT_EQ(waits.look_again, 30s) << "places are not watched";

  snapshot.queue.workload = admitted_workload();
  const Decision runs = next(snapshot);
  EXPECT_THAT(effects_of(runs), ElementsAre("tell ltj-train", "pod 0", "pod 1"));
  EXPECT_EQ(runs.placement.node_selector.at("pool"), "spot");
  EXPECT_EQ(runs.placement.tolerations.size(), 1U);
  EXPECT_THAT(told_conditions(patch_of(runs)),
              ElementsAre("QuotaReserved=True QuotaReserved", "Admitted=True Admitted",
                          "PodsReady=False WaitForStart"));
  EXPECT_TRUE(snapshot.job.status.gang().admitted());
  EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved),
            "True QuotaReserved: told of Admitted");
}

TEST(QueuePolicy, PlacesThatNobodyTellsJustNowAreAskedForAgain) {
  Snapshot snapshot = queued_job();
  snapshot.queue.workload = workload({{"QuotaReserved", "False", "Pending"}});
  EXPECT_EQ(next(snapshot).look_again, std::nullopt) << "this cluster has none";
  snapshot.queue.positions_may_come = true;
  EXPECT_EQ(next(snapshot).look_again, 5min);
}

TEST(QueuePolicy, WhatTheServerRefusesWhileAJobWaitsIsSaid) {
  Snapshot snapshot = queued_job();
  snapshot.trouble = "failed calling webhook";
  next(snapshot);
  EXPECT_THAT(
      condition(snapshot.job.status, conditions::kScheduled),
      HasSubstr("False WaitingForQuota: no pod is made before the queue admits the job: workload ltj-train "
                "is handed to queue lq; failed calling webhook"));
}

TEST(QueuePolicy, QuotaAloneIsNoAdmission) {
  for (const auto& [name, told] : std::vector<std::pair<std::string, WorkloadView>>{
           {"checks are pending",
            workload({{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "False", "NoChecks"}})},
           {"nothing is said", workload({})}}) {
    Snapshot snapshot = queued_job();
    snapshot.queue.workload = told;
    EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << name;
  }
}

TEST(QueuePolicy, AJobThatHasQuotaSaysWhichAdmissionCheckItWaitsForAndInWhoseWords) {
  const std::vector<ToldCondition> reserved{{"QuotaReserved", "True", "QuotaReserved"}};
  const std::string ready = R"({"name": "budget", "state": "Ready", "message": "paid"})";
  for (const auto& [checks, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "told of QuotaReserved"},
           {ready, "told of QuotaReserved"},
           {ready + R"(, {"name": "machines", "state": "Pending", "message": "two of four are up"})",
            "told of QuotaReserved; admission check machines is Pending: two of four are up"},
           {R"({"name": "machines", "state": "Retry", "message": ""}, {"name": "later", "state": "Pending"})",
            "told of QuotaReserved; admission check machines is Retry"}}) {
    Snapshot snapshot = queued_job();
    snapshot.queue.workload = workload(reserved, R"({"admissionChecks": [)" + checks + "]}");
    next(snapshot);
    EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved), "True QuotaReserved: " + said);
  }
}

TEST(QueuePolicy, ADeactivatedWorkloadSaysWhichAdmissionCheckRefusedIt) {
  Snapshot snapshot = queued_job();
  snapshot.queue.workload =
      workload({{"QuotaReserved", "False", "Pending"}, {"Evicted", "True", "Deactivated"}},
               R"({"admissionChecks": [{"name": "budget", "state": "Rejected", "message": "spent"}]})");
  snapshot.queue.workload->active = false;
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved),
              HasSubstr("told of Evicted; admission check budget is Rejected: spent"));
}

TEST(QueuePolicy, ThatAllPodsRunIsToldOnceAndALossAndItsEndToo) {
  Snapshot snapshot = running_in_queue();
  const Decision started = next(snapshot);
  EXPECT_THAT(told_conditions(patch_of(started)), ::testing::Contains("PodsReady=True Started"));
  snapshot.queue.workload =
      workload({{"QuotaReserved", "True", "q"}, {"Admitted", "True", "a"}, {"PodsReady", "True", "Started"}});
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  snapshot.pods[1].gone_by = kStart + 60s;
  EXPECT_THAT(told_conditions(patch_of(next(snapshot))),
              ::testing::Contains("PodsReady=False WaitForRecovery"));
  snapshot.queue.workload = workload(
      {{"QuotaReserved", "True", "q"}, {"Admitted", "True", "a"}, {"PodsReady", "False", "WaitForRecovery"}});
  snapshot.pods[1].gone_by.reset();
  EXPECT_THAT(told_conditions(patch_of(next(snapshot))), ::testing::Contains("PodsReady=True Recovered"));
}

TEST(QueuePolicy, AnEvictionSuspendsTheJobAndTheQuotaIsGivenBackWhenThePodsAreGone) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue.workload = evicted_workload();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_EQ(condition(snapshot.job.status, conditions::kSuspended),
            "True ByQueue: the queue takes back what it had given: told of Evicted");
  snapshot.pods[0].gone_by = snapshot.pods[1].gone_by = kStart + 300s;
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << "they save and end";
  snapshot.pods.clear();

  const Decision released = next(snapshot);
  EXPECT_THAT(effects_of(released), ElementsAre("tell ltj-train"));
  const kube::Json& patch = patch_of(released);
  EXPECT_TRUE(patch.at("status").at("admission").is_null());
  EXPECT_EQ(kube::text_at(patch, {"metadata", "resourceVersion"}), "7");
  EXPECT_THAT(
      told_conditions(patch),
      ElementsAre("QuotaReserved=False Pending", "Admitted=False NoReservation",
                  "PodsReady=False WaitForStart", "Evicted=True Preempted", "Requeued=True Preempted"));

  snapshot.queue.workload =
      workload({{"QuotaReserved", "False", "Pending"}, {"Evicted", "True", "Preempted"}});
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("True ByQueue"));

  snapshot.queue.workload = admitted_workload();
  snapshot.progress.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("tell ltj-train", "pod 0", "pod 1"));
  EXPECT_EQ(condition(snapshot.job.status, conditions::kSuspended),
            "False Resumed: the queue has admitted the job");
  EXPECT_EQ(snapshot.job.status.attempt(), 2);
  EXPECT_EQ(snapshot.job.status.restarts(), 0) << "an eviction costs no restart";
}

TEST(QueuePolicy, EachKindOfEvictionIsRequeuedAsTheQueueWants) {
  for (const auto& [evicted, requeued] : std::vector<std::pair<const char*, const char*>>{
           {"Preempted", "Requeued=True Preempted"},
           {"NodeFailures", "Requeued=True NodeFailures"},
           {"PodsReadyTimeout", "Requeued=False PodsReadyTimeout"},
           {"DeactivatedDueToRequeuingLimitExceeded", "Requeued=False Deactivated"}}) {
    EXPECT_THAT(told_conditions(release_patch(evicted_workload(evicted), kStart)),
                ::testing::Contains(requeued));
  }
}

TEST(QueuePolicy, AJobWhoseWorkloadIsDeletedIsSuspendedAndQueuedAnewByItsUser) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended),
              HasSubstr("True ByQueue: somebody has deleted workload ltj-train"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved), HasSubstr("False WorkloadDeleted"));
  snapshot.pods.clear();
  snapshot.progress.reset();
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << "it waits for its user";
  EXPECT_EQ(snapshot.job.status.state(), "Suspended");
  EXPECT_FALSE(snapshot.job.status.has_gang())
      << "an API server makes null of a message that has lost its fields";

  snapshot.job.spec.set_suspend(true);
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("True ByUser"));
  snapshot.job.spec.set_suspend(false);
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("False Resumed"));
}

TEST(QueuePolicy, ASuspendedJobLeavesTheQueueWhenItsPodsAreGone) {
  Snapshot snapshot = running_in_queue();
  snapshot.job.spec.set_suspend(true);
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
  snapshot.queue.workload->being_deleted = true;
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  snapshot.job.spec.set_suspend(false);
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << "the old Workload is still there";
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("False Resumed"));
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
}

// It may ask for other machines, or another queue.
TEST(QueuePolicy, AJobThatIsResumedWhileItsPodsStillEndIsQueuedAnewBehindThem) {
  Snapshot snapshot = running_in_queue();
  snapshot.job.spec.set_suspend(true);
  next(snapshot);
  snapshot.job.spec.set_suspend(false);
  for (PodView& pod : snapshot.pods) pod.gone_by = kStart + 60s;
  const Decision ending = next(snapshot);
  EXPECT_THAT(effects_of(ending), IsEmpty()) << "what the old Workload was given starts nothing";
  EXPECT_EQ(condition(snapshot.job.status, conditions::kSuspended),
            "True ByUser: resumed; it queues anew when its pods are gone");
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("False Resumed"));
  EXPECT_EQ(snapshot.job.status.attempt(), 2);
}

// As with each new leader, who begins without an answer of the queue.
TEST(QueuePolicy, AJobThatIsResumedBeforeItsQueueCanBeAskedGetsNothingOfItsOldWorkload) {
  for (const auto api : {QueueView::Api::kUnknown, QueueView::Api::kAbsent, QueueView::Api::kRefused}) {
    Snapshot snapshot = running_in_queue();
    snapshot.job.spec.set_suspend(true);
    next(snapshot);
    snapshot.pods.clear();
    snapshot.job.spec.set_suspend(false);
    snapshot.queue.api = api;
    snapshot.queue.workload.reset();
    for (int look = 0; look < 2; ++look) EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
    EXPECT_EQ(condition(snapshot.job.status, conditions::kSuspended),
              "True ByUser: resumed; it queues anew when the queue can be asked");
    EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved),
                HasSubstr(api == QueueView::Api::kUnknown ? "False Suspended: " : "False KueueMissing: "));
    snapshot.queue.api = QueueView::Api::kServed;
    snapshot.queue.workload = admitted_workload();
    EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
    snapshot.queue.workload.reset();
    EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
    EXPECT_EQ(snapshot.job.status.attempt(), 2);
  }
}

Snapshot waiting_in_queue() {
  Snapshot snapshot = queued_job();
  next(snapshot);
  snapshot.queue.workload = workload({{"QuotaReserved", "False", "Pending"}});
  next(snapshot);
  return snapshot;
}

void give_priority(Snapshot& snapshot) {
  snapshot.queue.priority =
      WorkloadPriority{.group = kKueueGroup, .kind = "WorkloadPriorityClass", .name = "high", .value = 1000};
}

TEST(QueuePolicy, AJobThatWaitsAndIsGivenAnotherQueueOrPriorityQueuesAnew) {
  struct Case {
    const char* what;
    std::function<void(Snapshot&)> change;
  };
  for (const Case& c : {Case{"a queue", [](Snapshot& s) { s.job.spec.mutable_scheduling()->set_queue("q"); }},
                        Case{"a priority", give_priority}}) {
    Snapshot snapshot = waiting_in_queue();
    c.change(snapshot);
    EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train")) << c.what;
    EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved),
              "False Pending: workload ltj-train is made anew: the job asks for another queue or priority "
              "class");
    snapshot.queue.workload->being_deleted = true;
    EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << c.what;
    snapshot.queue.workload.reset();
    EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train")) << c.what;
    EXPECT_EQ(condition(snapshot.job.status, conditions::kSuspended), "") << "nobody else has deleted it";
  }
}

TEST(QueuePolicy, AJobKeepsItsPlaceWhereItHoldsQuotaOrAsksForAPriorityThatIsNotThere) {
  Snapshot reserved = waiting_in_queue();
  reserved.queue.workload = workload({{"QuotaReserved", "True", "QuotaReserved"}});
  give_priority(reserved);
  EXPECT_THAT(effects_of(next(reserved)), IsEmpty());
  Snapshot missing = waiting_in_queue();
  missing.job.spec.mutable_scheduling()->set_queue("q");
  missing.queue.missing_priority = "workloadpriorityclass high";
  EXPECT_THAT(effects_of(next(missing)), IsEmpty());
}

TEST(QueuePolicy, AJobThatTheQueueHasSuspendedMovesToAnotherQueueAndGoesOnThere) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue.workload = evicted_workload();
  next(snapshot);
  snapshot.pods.clear();
  snapshot.progress.reset();
  snapshot.job.spec.mutable_scheduling()->set_queue("q");
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("tell ltj-train")) << "the quota first";
  snapshot.queue.workload =
      workload({{"QuotaReserved", "False", "Pending"}, {"Evicted", "True", "Preempted"}});
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("True ByQueue"));
  snapshot.queue.workload = admitted_workload();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("tell ltj-train", "pod 0", "pod 1"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("False Resumed"));
}

TEST(QueuePolicy, ASuspendedJobThatGivesUpItsQueueLeavesNoWorkloadBehind) {
  Snapshot snapshot = running_in_queue();
  snapshot.job.spec.set_suspend(true);
  next(snapshot);
  EXPECT_NE(snapshot.job.status.gang().workload(), "") << "while its pods end";
  snapshot.job.spec.clear_scheduling();
  for (PodView& pod : snapshot.pods) pod.gone_by = kStart + 60s;
  snapshot.job.spec.set_suspend(false);
  for (int look = 0; look < 2; ++look)
    EXPECT_THAT(effects_of(next(snapshot)), Not(Contains("delete ltj-train")))
        << "they still use what it gave";
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(next(snapshot)), Contains("delete ltj-train"));
}

TEST(QueuePolicy, TheQuotaOfAPodOnADeadMachineIsGivenBackWhenItsGraceIsOver) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue.workload = evicted_workload();
  snapshot.pods.resize(1);
  snapshot.pods[0].gone_by = kStart + 60s;
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  EXPECT_THAT(effects_of(next(snapshot, kStart + 61s)), ElementsAre("tell ltj-train"));
}

TEST(QueuePolicy, WhatIsOnlyToldTheQueueComesBehindWhatTheJobNeeds) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue.workload =
      workload({{"QuotaReserved", "True", "q"}, {"Admitted", "True", "a"}, {"PodsReady", "True", "Started"}});
  snapshot.pods.pop_back();
  const auto effects = effects_of(next(snapshot));
  ASSERT_FALSE(effects.empty());
  EXPECT_EQ(effects.back(), "tell ltj-train") << "a webhook of the queue's may be away";
}

TEST(QueuePolicy, TheQuotaOfAJobThatHasEndedIsGivenBackWhenNoPodRuns) {
  Snapshot snapshot = running_in_queue();
  v1alpha1::JobResult result;
  result.set_result("Complete");
  result.set_reason("StepsReached");
  snapshot.progress->result = result;
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre()) << "its agents end by themselves";
  snapshot.pods = {ended_pod(0, 0, kStart), ended_pod(1, 0, kStart)};
  const Decision ended = next(snapshot);
  EXPECT_THAT(told_conditions(patch_of(ended)), ::testing::Contains("Finished=True Succeeded"));
  PodView dead = running_pod(0);
  dead.gone_by = kStart + 60s;
  snapshot.pods = {dead};
  EXPECT_EQ(next(snapshot).look_again, 60s) << "complete jobs' agents have a minute";
  EXPECT_EQ(next(snapshot, kStart + 60s).look_again, 1s) << "nobody tells that a dead machine's pod is gone";
  EXPECT_THAT(told_conditions(patch_of(next(snapshot, kStart + 61s))),
              ::testing::Contains("Finished=True Succeeded"));
  snapshot.queue.workload = workload({{"Finished", "True", "Succeeded"}});
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
}

TEST(QueuePolicy, WhatKeepsAJobOutOfEveryQueueIsSaid) {
  struct Case {
    std::string message;
    std::function<void(Snapshot&)> change;
  };
  for (const Case& c : {
           Case{"False KueueMissing: this cluster does not serve kueue.x-k8s.io",
                [](Snapshot& s) { s.queue.api = QueueView::Api::kAbsent; }},
           Case{"False KueueMissing: this operator may not list",
                [](Snapshot& s) { s.queue.api = QueueView::Api::kRefused; }},
           Case{"or ask an administrator for the rights that docs/user/install.md names",
                [](Snapshot& s) { s.queue.api = QueueView::Api::kRefused; }},
           Case{"False KueueMissing: the queue cannot be asked: 503 ServiceUnavailable; ",
                [](Snapshot& s) {
                  s.queue = {.api = QueueView::Api::kUnknown, .trouble = "503 ServiceUnavailable"};
                }},
           Case{"False QueueMissing: the job asks for Kueue and names no queue",
                [](Snapshot& s) { s.job.spec.mutable_scheduling()->clear_queue(); }},
           Case{"False PriorityClassMissing: workloadpriorityclass high is not there",
                [](Snapshot& s) { s.queue.missing_priority = "workloadpriorityclass high"; }},
       }) {
    Snapshot snapshot = queued_job();
    c.change(snapshot);
    EXPECT_THAT(effects_of(next(snapshot)), IsEmpty()) << c.message;
    EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved), HasSubstr(c.message));
  }
}

TEST(QueuePolicy, WhatRunsGoesOnWhileNobodyKnowsWhatTheQueueSays) {
  for (const auto api : {QueueView::Api::kUnknown, QueueView::Api::kAbsent, QueueView::Api::kRefused}) {
    Snapshot snapshot = running_in_queue();
    snapshot.queue = {.api = api};
    snapshot.pods.pop_back();
    EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
    EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), IsEmpty());
  }
}

TEST(QueuePolicy, AJobThatRunsAndGetsNoPodsBeforeItsQueueAnswersSaysSo) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue = {.api = QueueView::Api::kUnknown, .trouble = "503 ServiceUnavailable"};
  const Decision unanswered = next(snapshot);
  EXPECT_EQ(condition(snapshot.job.status, conditions::kScheduled),
            "True AllPodsBound: all 2 pods have a machine");
  EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved),
            "True QuotaReserved: told of Admitted");
  EXPECT_TRUE(std::ranges::none_of(
      unanswered.notes, [](const Note& note) { return note.action == conditions::kQuotaReserved; }));
  snapshot.pods.pop_back();
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled),
              HasSubstr("1 of 2 pods have a machine; the queue cannot be asked: 503 ServiceUnavailable"));
  snapshot.queue = {.api = QueueView::Api::kServed, .workload = admitted_workload()};
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled),
              HasSubstr("resourceflavor spot, which the queue gave, is not known yet"));
}

// Whoever leads since is heard by way of the ConfigMap.
TEST(QueuePolicy, WhatPodsReadIsWrittenAnewAlsoWhileNobodyKnowsWhatTheQueueSays) {
  Snapshot snapshot = running_in_queue();
  snapshot.queue = {.api = QueueView::Api::kUnknown};
  snapshot.plan = {.uid = "plan", .fingerprint = "of the leader before", .written = "of the leader before"};
  snapshot.network_policy->written = "of the leader before";
  snapshot.pods.pop_back();
  const Decision decision = next(snapshot);
  std::vector<std::string> applied;
  for (const Effect& effect : decision.effects)
    applied.push_back(std::get<ApplyChild>(effect).resource.plural);
  EXPECT_THAT(applied, ElementsAre("configmaps", "networkpolicies"));
  EXPECT_NE(decision.plan_fingerprint, "");
}

TEST(QueuePolicy, ThePlaceIsToldExactlyInFrontAndRoughlyBehind) {
  const auto told = [](int position) {
    Snapshot snapshot = queued_job();
    snapshot.queue.workload = workload({{"QuotaReserved", "False", "Pending"}});
    snapshot.queue.position = position;
    next(snapshot);
    return find_condition(snapshot.job.status, conditions::kQuotaReserved)->message();
  };
  EXPECT_THAT(told(0), HasSubstr("it is number 1 in its queue"));
  EXPECT_THAT(told(9), HasSubstr("it is number 10 in its queue"));
  EXPECT_THAT(told(10), HasSubstr("more than 10 are before it"));
  EXPECT_THAT(told(999), HasSubstr("more than 100 are before it"));
  EXPECT_THAT(told(1000), HasSubstr("more than 1000 are before it"));
}

TEST(QueuePolicy, TheTopologyOfTheQueueIsThePlaceOfEachNodeOfTheJob) {
  Snapshot snapshot = queued_job();
  snapshot.job = job(R"(, "parallelism": {"mode": "Manual", "tensor": 1, "pipeline": 2, "data": 2},
      "resources": {"devices": 4, "devicesPerNode": 1, "device": {"kind": "CPU", "memory": "4Gi"}},
      "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq", "topology": {"mode": "Required", "key": "rack"}})");
  const Decision asks = next(snapshot);
  ASSERT_FALSE(asks.effects.empty());
  const kube::Json& pods =
      std::get<CreateChild>(asks.effects.front()).object.at("spec").at("podSets").as_array()[0];
  EXPECT_EQ(kube::text_at(pods, {"topologyRequest", "podSetSliceRequiredTopology"}), "rack");
  EXPECT_EQ(kube::integer_at(pods, {"topologyRequest", "podSetSliceSize"}), 2);
  EXPECT_EQ(kube::integer_at(pods, {"count"}), 4);
  snapshot.queue.workload = workload(
      {{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "True", "Admitted"}},
      R"({"admission": {"podSetAssignments": [{"name": "worker", "flavors": {"cpu": "spot"}, "topologyAssignment": {
          "levels": ["rack", "host"],
          "slices": [{"domainCount": 1, "valuesPerLevel": [{"universal": "r1"}, {"individual": {"roots": ["a"]}}],
                      "podCounts": {"universal": 2}},
                     {"domainCount": 2, "valuesPerLevel": [{"universal": "r2"},
                          {"individual": {"prefix": "h-", "roots": ["b", "c"], "suffix": "x"}}],
                      "podCounts": {"individual": [1, 1]}}]}}]}})");
  const Decision runs = next(snapshot);
  std::vector<std::string> hosts;
  for (const int domain : runs.placement.domain_of_node)
    hosts.push_back(runs.placement.domains.at(static_cast<std::size_t>(domain)).at("host"));
  EXPECT_THAT(hosts, ElementsAre("a", "h-bx", "a", "h-cx")) << "nodes 0 and 2 are a copy, 1 and 3 another";
  EXPECT_EQ(runs.placement.annotations.at("kueue.x-k8s.io/workload"), "ltj-train");
}

// Admitted, with a pod for each of the hosts.
WorkloadView workload_on(const std::vector<std::string>& hosts) {
  WorkloadView assigned = admitted_workload();
  for (const std::string& host : hosts)
    assigned.domains.push_back({.node_labels = {{"kubernetes.io/hostname", host}}, .pods = 1});
  return assigned;
}

PodView pod_on(int node, const std::string& host) {
  PodView pod = running_pod(node);
  pod.domain = domain_name({{"kubernetes.io/hostname", host}});
  return pod;
}

// "a b c d": the host of each node of the job.
std::string hosts_of(const Decision& decision) {
  std::string hosts;
  for (const int domain : decision.placement.domain_of_node) {
    if (!hosts.empty()) hosts += " ";
    hosts +=
        domain < 0
            ? "-"
            : decision.placement.domains.at(static_cast<std::size_t>(domain)).at("kubernetes.io/hostname");
  }
  return hosts;
}

// Four pods run on hosts a, b, c and d that Kueue has chosen.
Snapshot running_on_hosts(int pipeline = 1, const std::string& topology = R"({"mode": "None"})") {
  Snapshot snapshot = queued_job();
  snapshot.job = job(fmt::format(
      R"(, "parallelism": {{"mode": "Manual", "tensor": 1, "pipeline": {}, "data": {}}},
      "resources": {{"devices": 4, "devicesPerNode": 1, "device": {{"kind": "CPU", "memory": "4Gi"}}}},
      "scheduling": {{"gang": {{"provider": "Kueue"}}, "queue": "lq", "topology": {}}})",
      pipeline, 4 / pipeline, topology));
  next(snapshot);
  snapshot.queue.workload = workload_on({"a", "b", "c", "d"});
  next(snapshot);
  snapshot.job.status.mutable_certificates()->set_set(kCertificates);
  snapshot.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
  know_children(snapshot);
  snapshot.pods = {pod_on(0, "a"), pod_on(1, "b"), pod_on(2, "c"), pod_on(3, "d")};
  return snapshot;
}

TEST(QueuePolicy, WhenTheQueueReplacesAMachineTheOtherPodsKeepTheirs) {
  Snapshot snapshot = running_on_hosts();
  EXPECT_EQ(hosts_of(next(snapshot)), "a b c d");
  snapshot.pods.erase(snapshot.pods.begin());
  snapshot.queue.workload = workload_on({"b", "c", "d", "e"});
  const Decision replaces = next(snapshot);
  EXPECT_EQ(hosts_of(replaces), "e b c d");
  EXPECT_THAT(effects_of(replaces), Contains("pod 0"));
}

// Which the queue names, in racks.
SharedNodes hosts_in(const std::vector<std::pair<std::string, std::string>>& racks) {
  std::vector<NodeView> nodes;
  for (const auto& [host, rack] : racks)
    nodes.push_back({.name = "of-" + host, .labels = {{"kubernetes.io/hostname", host}, {"rack", rack}}});
  return shared(std::move(nodes));
}

// Copies of the model on nodes 0 and 2, which have moved behind the other, and 1 and 3.
TEST(QueuePolicy, WhatIsMadeAgainOfACopyGoesToTheRackOfTheRest) {
  Snapshot snapshot = running_on_hosts(2, R"({"mode": "Required", "key": "rack"})");
  snapshot.queue.workload = workload_on({"c", "d", "x", "y"});
  snapshot.nodes = hosts_in({{"c", "r2"}, {"d", "r2"}, {"x", "r3"}, {"y", "r3"}});
  snapshot.pods = {pod_on(2, "y"), pod_on(3, "d")};
  EXPECT_EQ(hosts_of(next(snapshot)), "x c y d");
  snapshot.pods = {pod_on(3, "d")};
  EXPECT_EQ(hosts_of(next(snapshot)), "x c y d") << "the rest of a copy goes before whole ones";
  snapshot.pods.clear();
  EXPECT_EQ(hosts_of(next(snapshot)), "c x d y") << "in the queue's order";
  snapshot.nodes = shared({});
  EXPECT_EQ(hosts_of(next(snapshot)), "c x d y") << "which is all that is known";
}

TEST(QueuePolicy, ACopyWhoseRackIsFullTakesNoPlaceBesideOneThatMayStayTogether) {
  Snapshot snapshot = running_on_hosts(2, R"({"mode": "Preferred", "key": "rack"})");
  snapshot.queue.workload = workload_on({"a", "b", "y", "z"});
  snapshot.nodes = hosts_in({{"a", "r1"}, {"b", "r2"}, {"y", "r2"}, {"z", "r3"}});
  snapshot.pods = {pod_on(0, "a"), pod_on(1, "b")};
  EXPECT_EQ(hosts_of(next(snapshot)), "a b z y");
  snapshot.pods = {pod_on(0, "a")};
  EXPECT_EQ(hosts_of(next(snapshot)), "a b z y") << "of the other no pod is left";
}

TEST(QueuePolicy, RacksMatterAsLongAsAPodOfACopyHasNoMachine) {
  Snapshot snapshot = running_on_hosts(2, R"({"mode": "Preferred", "key": "rack"})");
  EXPECT_FALSE(needs_racks(snapshot));
  snapshot.pods[1].machine.clear();
  EXPECT_TRUE(needs_racks(snapshot));
  snapshot.pods.erase(snapshot.pods.begin() + 1);
  EXPECT_TRUE(needs_racks(snapshot));
  Snapshot of_racks = snapshot;
  of_racks.queue.workload->domains = {WorkloadDomain{.node_labels = {{"rack", "r1"}}, .pods = 4}};
  EXPECT_FALSE(needs_racks(of_racks)) << "it says so itself";
  snapshot.job.spec.mutable_scheduling()->clear_topology();
  EXPECT_FALSE(needs_racks(snapshot));
}

TEST(QueuePolicy, APodThatWaitsForAMachineThatTheQueueHasReplacedIsMadeAgain) {
  Snapshot snapshot = running_on_hosts();
  snapshot.pods[0].phase = PodPhase::kPending;
  snapshot.pods[0].machine.clear();
  EXPECT_THAT(effects_of(next(snapshot)), Not(Contains("delete train-0-a1")));
  snapshot.queue.workload = workload_on({"b", "c", "d", "e"});
  EXPECT_THAT(effects_of(next(snapshot)), Contains("delete train-0-a1"));
  snapshot.pods[0] = pod_on(0, "a");
  const Decision stays = next(snapshot);
  EXPECT_EQ(hosts_of(stays), "e b c d");
  EXPECT_THAT(effects_of(stays), Not(Contains("delete train-0-a1"))) << "it has its machine";
  snapshot.pods[0].domain = snapshot.pods[1].domain;
  snapshot.pods[0].machine.clear();
  EXPECT_EQ(hosts_of(next(snapshot)), "e b c d") << "the place is that of the pod that runs there";
}

TEST(QueuePolicy, APodLeavesNoMachineThatTheQueueWouldGiveItAgain) {
  Snapshot snapshot = running_on_hosts();
  for (const int attempt : {1, 2}) note_failure("machine-1", attempt, snapshot.job.status);
  snapshot.job.status.set_attempt(3);
  Snapshot of_racks = snapshot;
  EXPECT_THAT(effects_of(next(snapshot)), Not(Contains("delete train-1-a1")));
  of_racks.queue.workload->domains = {WorkloadDomain{.node_labels = {{"rack", "r1"}}, .pods = 4}};
  EXPECT_THAT(effects_of(next(of_racks)), Contains("delete train-1-a1"));
}

// Made again there each time, as nothing else can be done.
TEST(QueuePolicy, APodThatDoesNotStartOnTheMachineOfTheQueueSaysWhatToDoForAsLong) {
  Snapshot snapshot = running_on_hosts();
  const char* advice = "pod train-1-a1: Kueue's topology names node machine-1 for it, on which two attempts";
  snapshot.pods[1].phase = PodPhase::kPending;
  note_failure("machine-1", 1, snapshot.job.status);
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled), Not(HasSubstr(advice)));
  note_failure("machine-1", 2, snapshot.job.status);
  snapshot.job.status.set_attempt(3);
  for (const TimePoint now : {kStart, kStart + 1h}) {
    next(snapshot, now);
    for (const char* type : {conditions::kScheduled, conditions::kRunning})
      EXPECT_THAT(condition(snapshot.job.status, type), HasSubstr(advice));
  }
  snapshot.pods[1].trouble = "its image cannot be pulled";
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled),
              HasSubstr("pod train-1-a1: its image cannot be pulled; Kueue's topology names node machine-1"));
  snapshot.pods[1] = pod_on(1, "b");
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kScheduled), Not(HasSubstr("Kueue's topology")));
}

TEST(QueuePolicy, AJobThatWasPlannedAgainQueuesAnewWhereOtherPodsMustStayTogether) {
  Snapshot snapshot = queued_job();
  snapshot.job = job(R"(, "parallelism": {"mode": "Manual", "tensor": 1, "pipeline": 2, "data": 2},
      "resources": {"devices": 4, "devicesPerNode": 1, "device": {"kind": "CPU", "memory": "4Gi"}},
      "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq", "topology": {"mode": "Required", "key": "rack"}})");
  next(snapshot);
  snapshot.queue.workload = admitted_workload();
  snapshot.queue.workload->slice_size = 4;
  next(snapshot);
  snapshot.pods = {running_pod(0), running_pod(1), running_pod(2), running_pod(3)};
  EXPECT_THAT(effects_of(next(snapshot)), Not(Contains("delete train-0-a1"))) << "only another layout counts";
  snapshot.job.status.mutable_memory_correction()->set_attempt(1);
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete train-0-a1", "delete train-1-a1",
                                                      "delete train-2-a1", "delete train-3-a1"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended),
              HasSubstr("True ByQueue: workload ltj-train is made anew: the layout has changed"));
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("create workloads/ltj-train"));
  snapshot.queue.workload = admitted_workload();
  snapshot.queue.workload->slice_size = 2;
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("tell ltj-train", "pod 0", "pod 1", "pod 2", "pod 3"));
  EXPECT_THAT(condition(snapshot.job.status, conditions::kSuspended), HasSubstr("False Resumed"));
}

// Who may write a Workload's status may write any number into it, and every look at the job reads it.
TEST(QueuePolicy, AnAssignmentWithoutBoundsTakesNoMemory) {
  const WorkloadView huge =
      workload({{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "True", "Admitted"}},
               R"({"admission": {"podSetAssignments": [{"name": "worker", "topologyAssignment": {
          "levels": ["host"],
          "slices": [{"domainCount": 2147483647, "valuesPerLevel": [{"universal": "a"}],
                      "podCounts": {"universal": 2147483647}}]}}]}})");
  EXPECT_LE(huge.domains.size(), 16384U);
  Snapshot snapshot = queued_job();
  snapshot.queue.workload = huge;
  next(snapshot);
  EXPECT_LE(next(snapshot).placement.domain_of_node.size(), 2U);
}

TEST(QueuePolicy, WhatTheQueueGivesAndTheJobCannotUseEndsIt) {
  Snapshot snapshot = queued_job(R"(, "worker": {"nodeSelector": {"pool": "reserved"}})");
  snapshot.queue.workload = admitted_workload();
  next(snapshot);
  EXPECT_THAT(condition(snapshot.job.status, conditions::kFailed),
              HasSubstr("node label pool is to be both 'spot' and 'reserved'"));
}

TEST(QueuePolicy, AFlavorThatIsChangedUnderARunningJobEndsNothing) {
  Snapshot snapshot = running_in_queue();
  (*snapshot.job.spec.mutable_worker()->mutable_node_selector())["pool"] = "spot";
  auto& labels = snapshot.queue.flavors.at("spot").node_labels;
  labels["pool"] = "reserved";
  snapshot.pods.pop_back();
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  EXPECT_THAT(condition(snapshot.job.status, conditions::kFailed), IsEmpty());
  snapshot.progress->step.emplace().set_step(7);
  next(snapshot, kStart + 60s);
  EXPECT_EQ(snapshot.job.status.progress().step(), 7) << "what runs is followed";
  EXPECT_THAT(condition(snapshot.job.status, conditions::kQuotaReserved),
              HasSubstr("no pod is made while what the queue gave cannot be used: node label pool"));
  labels["pool"] = "spot";
  EXPECT_THAT(effects_of(next(snapshot)), Contains("pod 1"));
}

TEST(QueuePolicy, AJobThatAsksForNoQueueAnyMoreKeepsNoQuota) {
  Snapshot snapshot = running_in_queue();
  snapshot.job.spec.clear_scheduling();
  EXPECT_THAT(effects_of(next(snapshot)), ElementsAre("delete ltj-train"));
  snapshot.queue.workload.reset();
  EXPECT_THAT(effects_of(next(snapshot)), IsEmpty());
  EXPECT_EQ(snapshot.job.status.gang().workload(), "");
  EXPECT_EQ(condition(snapshot.job.status, conditions::kQuotaReserved), "");
}

TEST(QueuePolicy, AManagedJobGetsItsWorkloadAndNothingElse) {
  Snapshot snapshot = queued_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue")");
  const Decision decision = decide(snapshot, settings(), kStart);
  EXPECT_THAT(effects_of(decision), ElementsAre("create workloads/ltj-train"));
  EXPECT_EQ(decision.effects.size(), 1U);
  EXPECT_EQ(text_of(decision.status), text_of(v1alpha1::JobStatus()));
  snapshot.queue.workload = admitted_workload();
  EXPECT_THAT(decide(snapshot, settings(), kStart).effects, IsEmpty());
}

TEST(QueuePolicy, AManagedJobThatIsSuspendedOrCancelledIsTakenBack) {
  Snapshot suspended = queued_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue", "suspend": true)");
  Snapshot cancelled = queued_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue")");
  cancelled.job.annotations[annotations::kCancel] = kCancelled;
  for (Snapshot* snapshot : {&suspended, &cancelled}) {
    snapshot->queue.workload = admitted_workload();
    EXPECT_THAT(effects_of(decide(*snapshot, settings(), kStart)), ElementsAre("delete ltj-train"));
    snapshot->queue.workload.reset();
    EXPECT_THAT(decide(*snapshot, settings(), kStart).effects, IsEmpty());
  }
}

TEST(QueuePolicy, AManagedJobThatHasEndedElsewhereGoesWhenItsTimeIsOver) {
  Snapshot snapshot =
      queued_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue", "ttlSecondsAfterFinished": 60)");
  Conditions(snapshot.job.status, 1, kStart).set(conditions::kComplete, true, reasons::kStepsReached, "");
  snapshot.job.status.set_completion_time(to_text(kStart));
  const Decision decision = decide(snapshot, settings(), kStart);
  EXPECT_THAT(decision.effects, IsEmpty());
  EXPECT_EQ(decision.look_again, 60s);
  EXPECT_EQ(decide(snapshot, settings(), kStart + 60s).effects.size(), 1U);
}

}  // namespace
}  // namespace caravan::controller::testing
