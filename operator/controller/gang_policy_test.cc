// Gangs that nobody places as a whole: when they give their machines back, and that two never block each
// other.
#include "operator/controller/gang_policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "operator/api/conditions.h"
#include "operator/controller/decide.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using Course = Verdict::Course;
using ::testing::HasSubstr;

// Of two pods, one of which waits for a machine since the start.
Snapshot half_placed(const std::string& scheduling = R"(, "scheduling": {"gang": {"timeoutSeconds": 60}})") {
  Snapshot snapshot{.job = job(scheduling)};
  snapshot.job.status.set_attempt(1);
  Conditions(snapshot.job.status, 1, kStart)
      .set(conditions::kScheduled, false, reasons::kWaitingForPods, "1 of 2 pods have a machine");
  PodView waiting = running_pod(1);
  waiting.phase = PodPhase::kPending;
  waiting.machine.clear();
  snapshot.pods = {running_pod(0), waiting};
  return snapshot;
}

GangVerdict judge(const Snapshot& snapshot, TimePoint now) {
  return judge_gang(snapshot, snapshot.job.status, 2, now);
}

bool gives_back(const Snapshot& snapshot, TimePoint now) {
  const GangVerdict verdict = judge(snapshot, now);
  return verdict.course == Course::kStops && verdict.gives_back;
}

TEST(GangPolicy, AGangThatHasSomeOfItsMachinesForTooLongGivesThemBack) {
  const Snapshot snapshot = half_placed();
  EXPECT_EQ(judge(snapshot, kStart + 59s).course, Course::kGoesOn);
  EXPECT_EQ(judge(snapshot, kStart + 59s).look_again, 1s);
  const GangVerdict verdict = judge(snapshot, kStart + 60s);
  EXPECT_EQ(verdict.course, Course::kStops);
  EXPECT_TRUE(verdict.gives_back);
  EXPECT_EQ(verdict.gang.given_back(), 1);
  EXPECT_EQ(verdict.gang.waits_until(), to_text(kStart + 90s));
  ASSERT_FALSE(verdict.conditions.empty());
  EXPECT_THAT(verdict.conditions[0].message, HasSubstr("not all of the 2 pods got a machine within 60 s"));
}

TEST(GangPolicy, TheTimeBeginsWithTheFirstMachine) {
  Snapshot snapshot = half_placed();
  snapshot.pods[0].bound_at = kStart + 600s;
  EXPECT_EQ(judge(snapshot, kStart + 659s).course, Course::kGoesOn);
  EXPECT_TRUE(gives_back(snapshot, kStart + 660s));
}

TEST(GangPolicy, WhatKeepsAPodFromBeingReplacedIsNoLackOfAMachine) {
  Snapshot snapshot = half_placed();
  snapshot.pods[1] = ended_pod(1, 1, kStart);
  EXPECT_EQ(judge(snapshot, kStart + 24h).course, Course::kGoesOn) << "failurePolicy has it wait";
  snapshot.pods[1].gone_by = kStart + 300s;
  EXPECT_EQ(judge(snapshot, kStart + 24h).course, Course::kGoesOn) << "it ends";
  snapshot.pods.pop_back();
  EXPECT_EQ(judge(snapshot, kStart + 359s).course, Course::kGoesOn) << "the next one is to be made";
  snapshot.trouble = "exceeded quota";
  EXPECT_TRUE(gives_back(snapshot, kStart + 60s)) << "and is refused";
  snapshot.trouble.clear();
  PodView next = running_pod(1, 2);
  next.phase = PodPhase::kPending;
  next.machine.clear();
  next.created_at = kStart + 90s;
  snapshot.pods.push_back(next);
  EXPECT_EQ(judge(snapshot, kStart + 149s).look_again, 1s);
  EXPECT_TRUE(gives_back(snapshot, kStart + 150s));
}

// As where a webhook fails each time, or quota is not evaluated in time, which is no refusal.
TEST(GangPolicy, APodThatNobodyCouldMakeIsLackingOnceEveryPauseIsOver) {
  Snapshot snapshot = half_placed();
  snapshot.pods.pop_back();
  EXPECT_EQ(judge(snapshot, kStart + 359s).course, Course::kGoesOn);
  EXPECT_EQ(judge(snapshot, kStart + 359s).look_again, 1s);
  EXPECT_TRUE(gives_back(snapshot, kStart + 360s));
  snapshot.pods[0].bound_at = kStart + 60s;
  EXPECT_FALSE(gives_back(snapshot, kStart + 419s)) << "the time begins with the first machine";
  EXPECT_TRUE(gives_back(snapshot, kStart + 420s));
}

// As for another domain of the topology.
TEST(GangPolicy, APodThatIsMadeAgainInItsAttemptBeginsNoNewTime) {
  Snapshot snapshot = half_placed();
  snapshot.pods[1].created_at = kStart + 50s;
  EXPECT_EQ(judge(snapshot, kStart + 59s).look_again, 1s);
  EXPECT_TRUE(gives_back(snapshot, kStart + 60s));
}

TEST(GangPolicy, OfPodsThatReplaceOthersTheFirstMachineBeginsTheTime) {
  Snapshot snapshot = half_placed();
  snapshot.pods[0].bound_at = kStart;
  snapshot.pods[1].attempt = 2;
  snapshot.pods[1].created_at = kStart + 299s;
  snapshot.pods.push_back(running_pod(2, 2));
  snapshot.pods[2].bound_at = kStart + 300s;
  const auto judge_at = [&](TimePoint now) { return judge_gang(snapshot, snapshot.job.status, 3, now); };
  EXPECT_EQ(judge_at(kStart + 359s).look_again, 1s);
  EXPECT_TRUE(judge_at(kStart + 360s).gives_back);
}

TEST(GangPolicy, PodsThatTheOperatorItselfMayNotMakeAreLackingToo) {
  for (const char* reason : {reasons::kNotAllowed, reasons::kNoDomain}) {
    Snapshot snapshot = half_placed();
    snapshot.pods.pop_back();
    EXPECT_FALSE(gives_back(snapshot, kStart + 60s));
    Conditions(snapshot.job.status, 1, kStart).set(conditions::kScheduled, false, reason, "");
    EXPECT_FALSE(gives_back(snapshot, kStart + 59s)) << reason;
    EXPECT_TRUE(gives_back(snapshot, kStart + 60s)) << reason;
  }
}

TEST(GangPolicy, WhoHoldsNothingUpStays) {
  Snapshot none = half_placed();
  none.pods[0].machine.clear();
  Snapshot all = half_placed();
  all.pods[1].machine = "machine-1";
  Snapshot scheduled = half_placed();
  Conditions(scheduled.job.status, 1, kStart).set(conditions::kScheduled, true, reasons::kAllPodsBound, "");
  Snapshot placed_by_others = half_placed(R"(, "scheduling": {"gang": {"provider": "Volcano"}})");
  for (const Snapshot& snapshot : {none, all, scheduled, placed_by_others})
    EXPECT_EQ(judge(snapshot, kStart + 24h).course, Course::kGoesOn) << text_of(snapshot.job.status);
  EXPECT_EQ(judge_gang(half_placed(), half_placed().job.status, 1, kStart + 24h).course, Course::kGoesOn)
      << "a single pod is never half placed";
}

TEST(GangPolicy, AJobThatSaysNothingOfItsGangHasTheDefaultTime) {
  const Snapshot snapshot = half_placed("");
  EXPECT_EQ(judge(snapshot, kStart + 599s).course, Course::kGoesOn);
  EXPECT_TRUE(gives_back(snapshot, kStart + 600s));
}

TEST(GangPolicy, EachTimeItWaitsLongerAndOlderJobsComeFirst) {
  struct Case {
    int given_back;
    int ahead;
    std::chrono::seconds pause;
  };
  for (const Case& c : {Case{0, 0, 30s},
                        {1, 0, 60s},
                        {2, 0, 120s},
                        {20, 0, 600s},
                        {0, 1, 90s},
                        {0, 3, 210s},
                        {0, 1000, 510s}}) {
    Snapshot snapshot = half_placed();
    snapshot.job.status.mutable_gang()->set_given_back(c.given_back);
    snapshot.gangs_ahead = c.ahead;
    EXPECT_EQ(judge(snapshot, kStart + 60s).gang.waits_until(), to_text(kStart + 60s + c.pause))
        << c.given_back << " times, behind " << c.ahead;
  }
}

TEST(GangPolicy, NothingIsMadeBeforeTheTimeHasComeAndTheOldPodsAreGone) {
  Snapshot snapshot = half_placed();
  snapshot.job.status.mutable_gang()->set_waits_until(to_text(kStart + 90s));
  EXPECT_EQ(judge(snapshot, kStart + 100s).course, Course::kStops) << "its pods are still there";
  EXPECT_FALSE(judge(snapshot, kStart + 100s).gives_back) << "they are given back once";
  snapshot.pods.clear();
  EXPECT_EQ(judge(snapshot, kStart + 80s).course, Course::kStops);
  EXPECT_EQ(judge(snapshot, kStart + 80s).look_again, 10s);
  const GangVerdict verdict = judge(snapshot, kStart + 90s);
  EXPECT_EQ(verdict.course, Course::kGoesOn);
  EXPECT_EQ(verdict.gang.waits_until(), "");
}

TEST(GangPolicy, APodOfADeadMachineIsWaitedForUntilItsGraceIsOver) {
  Snapshot snapshot = half_placed();
  snapshot.job.status.mutable_gang()->set_waits_until(to_text(kStart + 90s));
  snapshot.pods.resize(1);
  snapshot.pods[0].gone_by = kStart + 120s;
  const GangVerdict waiting = judge(snapshot, kStart + 100s);
  EXPECT_EQ(waiting.course, Course::kStops);
  EXPECT_EQ(waiting.look_again, 21s) << "nobody tells of it";
  EXPECT_EQ(judge(snapshot, kStart + 121s).course, Course::kGoesOn);
}

TEST(GangPolicy, WhatIsGivenBackCostsNoRestart) {
  Snapshot snapshot = half_placed();
  know_children(snapshot);
  const Decision decision = decide(snapshot, settings(), kStart + 60s);
  EXPECT_EQ(decision.status.restarts(), 0);
  EXPECT_EQ(decision.status.attempt(), 2);
  EXPECT_EQ(find_condition(decision.status, conditions::kScheduled)->reason(), reasons::kGangTimeout);
  EXPECT_EQ(decision.effects.size(), 2U) << "both pods go";
  snapshot.job.status = decision.status;
  for (PodView& pod : snapshot.pods) pod.gone_by = kStart + 120s;
  const Decision later = decide(snapshot, settings(), kStart + 70s);
  EXPECT_TRUE(later.effects.empty());
  EXPECT_EQ(later.status.restarts(), 0);
}

// Whatever it did before: after a restart or a hang, too.
TEST(GangPolicy, AGangThatHasGivenItsMachinesBackIsAJobThatWaits) {
  Snapshot snapshot = half_placed();
  know_children(snapshot);
  for (const char* type : conditions::kOfPods)
    Conditions(snapshot.job.status, 1, kStart).set(type, true, reasons::kStalled, "");
  EXPECT_EQ(decide(snapshot, settings(), kStart + 60s).status.state(), "Pending");
}

// Machines that take one pod each, a scheduler that takes pods in any order, and jobs of as many pods as
// there are machines, or nearly.
class Cluster {
 public:
  Cluster(unsigned seed, int machines, int nodes) : random_(seed), free_(machines), nodes_(nodes) {
    for (int i = 0; i < 2; ++i) {
      Snapshot& job = jobs_.emplace_back();
      kube::Json object = job_object_of(nodes);
      object.at("spec").as_object()["scheduling"] =
          kube::JsonObject{{"gang", kube::JsonObject{{"timeoutSeconds", 60}}}};
      job.job = read_job(object);
      job.job.uid = fmt::format("job-{}", i);
      job.job.status.mutable_certificates()->set_set(kCertificates);
      job.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
      know_children(job);
    }
  }

  // Until both jobs have ended. False: they block each other for a day.
  bool run() {
    for (; now_ < kStart + 24h; now_ += 5s) {
      end_pods();
      schedule();
      // The operator looks at jobs in any order.
      const std::size_t first = random_() % 2;
      for (const std::size_t i : {first, 1 - first}) look_at(i);
      if (std::ranges::all_of(jobs_, [](const Snapshot& s) { return is_finished(s.job.status); }))
        return true;
    }
    return false;
  }

  int given_back() const {
    int times = 0;
    for (const Snapshot& job : jobs_) times += job.job.status.gang().given_back();
    return times;
  }

 private:
  void end_pods() {
    for (Snapshot& job : jobs_) {
      std::erase_if(job.pods, [&](const PodView& pod) {
        const bool is_gone = pod.gone_by && random_() % 4 == 0;
        if (is_gone && pod.bound()) ++free_;
        return is_gone;
      });
      const auto bound =
          std::ranges::count_if(job.pods, [](const PodView& p) { return p.alive() && p.bound(); });
      if (bound < nodes_ || is_finished(job.job.status)) continue;
      v1alpha1::JobResult result;
      result.set_result("Complete");
      result.set_reason("StepsReached");
      if (random_() % 60 == 0)
        job.progress = JobProgress{.attempt = job.job.status.attempt(), .result = result};
    }
  }

  void schedule() {
    std::vector<PodView*> waiting;
    for (Snapshot& job : jobs_) {
      for (PodView& pod : job.pods)
        if (pod.alive() && !pod.bound()) waiting.push_back(&pod);
    }
    std::ranges::shuffle(waiting, random_);
    for (PodView* pod : waiting) {
      if (free_ == 0) return;
      --free_;
      pod->machine = "machine";
      pod->bound_at = now_;
      pod->phase = PodPhase::kRunning;
    }
  }

  void look_at(std::size_t index) {
    Snapshot& job = jobs_[index];
    const v1alpha1::Condition* other = find_condition(jobs_[0].job.status, conditions::kScheduled);
    job.gangs_ahead =
        index == 1 && other != nullptr && other->status() == "False" && !is_finished(jobs_[0].job.status);
    const Decision decision = decide(job, settings(), now_);
    job.job.status = decision.status;
    for (const Effect& effect : decision.effects) {
      if (const auto* deleted = std::get_if<DeletePod>(&effect)) {
        for (PodView& pod : job.pods)
          if (pod.uid == deleted->uid && !pod.gone_by) pod.gone_by = now_ + 300s;
      } else if (const auto* created = std::get_if<CreatePod>(&effect)) {
        PodView pod = running_pod(created->node, decision.status.attempt());
        pod.uid = fmt::format("pod-{}", ++pods_made_);
        pod.phase = PodPhase::kPending;
        pod.machine.clear();
        pod.created_at = now_;
        job.pods.push_back(pod);
      }
    }
  }

  std::mt19937 random_;
  int free_;
  int nodes_;
  int pods_made_ = 0;
  TimePoint now_ = kStart;
  std::vector<Snapshot> jobs_;  // the older first
};

TEST(GangPolicy, TwoGangsThatEachFitHalfNeverBlockEachOther) {
  CARAVAN_BY_TURNS();
  const test::Sample sample(50);
  int given_back = 0;
  int runs = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    if (!sample.takes(seed)) continue;
    ++runs;
    Cluster cluster(seed, 4, seed % 2 == 0 ? 4 : 3);
    ASSERT_TRUE(cluster.run()) << "seed " << seed;
    given_back += cluster.given_back();
  }
  EXPECT_GT(given_back, runs / 2) << "they have met";
}

}  // namespace
}  // namespace caravan::controller::testing
