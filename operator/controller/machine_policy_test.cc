// Which machines a job avoids, from the failure on to the pod that is made elsewhere.
#include "operator/controller/machine_policy.h"

#include <gmock/gmock.h>

#include "operator/controller/failure_policy.h"
#include "operator/controller/restart_count.h"
#include "operator/controller/story.h"
#include "operator/controller/told_failure.h"
#include "operator/testing/jobs.h"
#include "policy/failure_policy.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MachinePolicy, AMachineIsAvoidedAfterTheSecondFailure) {
  v1alpha1::JobStatus status;
  note_failure("good", 1, status);
  note_failure("bad", 2, status);
  EXPECT_THAT(avoided_machines(status), IsEmpty());
  note_failure("bad", 5, status);
  EXPECT_THAT(avoided_machines(status), ElementsAre("bad"));
  note_failure("", 6, status);
  EXPECT_EQ(status.failed_machines_size(), 2) << "of an unknown machine nothing is kept";
}

TEST(MachinePolicy, TheMemoryIsBoundedAndKeepsWhatFailedTwice) {
  v1alpha1::JobStatus status;
  for (int attempt = 1; attempt <= 2; ++attempt) note_failure("bad", attempt, status);
  for (int machine = 0; machine < 100; ++machine)
    note_failure(fmt::format("once-{}", machine), machine, status);
  EXPECT_EQ(status.failed_machines_size(), 16);
  EXPECT_THAT(avoided_machines(status), ElementsAre("bad"));
  for (int machine = 0; machine < 100; ++machine) {
    for (int time = 0; time < 2; ++time) note_failure(fmt::format("twice-{}", machine), machine, status);
  }
  EXPECT_EQ(status.failed_machines_size(), 16);
  EXPECT_THAT(avoided_machines(status), SizeIs(8));
  EXPECT_THAT(avoided_machines(status), ::testing::Contains("twice-99"));
}

TEST(MachinePolicy, TheMachineOfAFailureIsThatOfThePodOfItsTime) {
  PodView before = running_pod(1, 2);
  before.machine = "old";
  PodView after = running_pod(1, 5);
  after.machine = "new";
  const std::vector<PodView> pods{running_pod(0), before, after};
  EXPECT_EQ(machine_of(pods, 1, 4), "old");
  EXPECT_EQ(machine_of(pods, 1, 7), "new");
  EXPECT_EQ(machine_of(pods, 1, 1), "");
  EXPECT_EQ(machine_of(pods, 99999, 7), "");
}

TEST(MachinePolicy, OnlySomeEndsOfAPodSpeakAgainstItsMachine) {
  struct Case {
    const char* what;
    PodView pod;
    bool blames_machine;
  };
  PodView rejected = running_pod(1);
  rejected.phase = PodPhase::kFailed;
  PodView evicted = rejected;
  evicted.disrupted = true;
  PodView starved = ended_pod(1, 137, kStart);
  starved.out_of_memory = true;
  PodView deleted = ended_pod(1, 139, kStart);
  deleted.gone_by = kStart;
  PodView never_started = running_pod(1);
  never_started.phase = PodPhase::kPending;
  never_started.bound_at = kStart;
  never_started.gone_by = kStart + 31min;
  never_started.deleted_at = kStart + 30min;
  PodView soon_deleted = never_started;
  soon_deleted.deleted_at = kStart + 29min;
  PodView preempted_late = never_started;
  preempted_late.disrupted = true;
  const Case cases[] = {
      {"crashed", ended_pod(1, 139, kStart), true},
      {"rejected by the machine", rejected, true},
      {"runs", running_pod(1), false},
      {"done", ended_pod(1, 0, kStart), false},
      {"gave up", ended_pod(1, 1, kStart), false},
      {"killed", ended_pod(1, 137, kStart), false},
      {"told to end", ended_pod(1, 143, kStart), false},
      {"evicted", evicted, false},
      {"out of memory", starved, false},
      {"deleted", deleted, false},
      {"not started in half an hour", never_started, true},
      {"deleted before that", soon_deleted, false},
      {"preempted behind that", preempted_late, false},
  };
  for (const Case& c : cases) EXPECT_EQ(failed_by_machine(c.pod), c.blames_machine) << c.what;
}

v1alpha1::JobStatus status_of_attempt(int attempt) {
  v1alpha1::JobStatus status;
  status.set_attempt(attempt);
  return status;
}

JobProgress told(const std::string& reason, int attempt, std::optional<int> suspect_node) {
  v1alpha1::JobEvent event;
  event.set_attempt(attempt);
  event.set_restarting(true);
  event.set_reason(reason);
  event.set_counts(true);
  event.set_message("rank 3 died first; restarting");
  if (suspect_node) event.set_suspect_node(*suspect_node);
  return {.attempt = attempt, .event = event, .event_at = kStart};
}

TEST(MachinePolicy, TheVerdictOnAFailureNamesTheMachine) {
  const std::vector<PodView> pods{running_pod(0), running_pod(1)};
  const auto machine = [&](const JobProgress& progress, TimePoint now) {
    return judge_report(job().spec, status_of_attempt(1), progress, pods, now, policy::kPatienceInPods)
        .machine;
  };
  EXPECT_EQ(machine(told("RankFailed", 1, 1), kStart), "machine-1");
  EXPECT_EQ(machine(told("Stalled", 1, 0), kStart), "machine-0");
  EXPECT_EQ(machine(told("RankFailed", 1, std::nullopt), kStart), "");
  EXPECT_EQ(machine(told("RankFailed", 1, 77777), kStart), "") << "the job has no such node";
  EXPECT_EQ(machine(told("PodLost", 1, 1), kStart + 10s), "machine-1") << "silent, and its pod lives";
  JobProgress back = told("PodLost", 1, 1);
  back.attempt = 2;
  EXPECT_EQ(machine(back, kStart + 10s), "") << "its agent is back";
  const std::vector<PodView> crashed{running_pod(0), ended_pod(1, 139, kStart)};
  v1alpha1::JobStatus status = status_of_attempt(1);
  EXPECT_EQ(judge_losses(job().spec, status, crashed, 2, kStart).machine, "machine-1");
}

TEST(MachinePolicy, AFailureCountsOnceForTheAttemptThatItEnds) {
  v1alpha1::JobStatus status = status_of_attempt(1);
  const FailureVerdict verdict{{}, /*next_attempt=*/2, /*counts=*/true, /*machine=*/"bad"};
  for (int i = 0; i < 2; ++i) count_restart({}, verdict, kStart, status);
  EXPECT_THAT(avoided_machines(status), IsEmpty());
  v1alpha1::EndedAttempt ended;
  ended.set_reason("RankFailed");
  ended.set_suspect_node(1);
  JobProgress progress{.attempt = 4};
  for (const int attempt : {1, 2, 3}) {
    ended.set_attempt(attempt);
    progress.ended.push_back(ended);
  }
  for (int i = 0; i < 2; ++i) count_told_restarts({}, progress, {running_pod(1)}, 4, kStart, status);
  EXPECT_THAT(avoided_machines(status), ElementsAre("machine-1")) << "of attempts 2 and 3; 1 was known";
}

TEST(MachinePolicy, PodsThatMoveCostNoRestart) {
  v1alpha1::JobStatus status = status_of_attempt(5);
  const auto lost = [&](int attempt) {
    return judge_report(job(R"(, "failurePolicy": {"maxRestarts": 0})").spec, status,
                        told("PodLost", attempt, std::nullopt), {}, kStart + 10s, policy::kPatienceInPods);
  };
  for (const int attempt : {2, 4}) note_failure("bad", attempt, status);
  const FailureVerdict moves = lost(5);
  EXPECT_EQ(moves.course, Verdict::Course::kRestarts);
  EXPECT_FALSE(moves.counts);
  EXPECT_THAT(moves.message, HasSubstr("move away"));
  status.set_attempt(6);
  EXPECT_EQ(lost(6).course, Verdict::Course::kFails) << "the attempt after";
}

// It was made before its agent fell silent, by the time that agents have to be heard of.
TEST(MachinePolicy, APodIsTheSilentOneWhereItIsOlderThanItsAgentsPatience) {
  v1alpha1::JobStatus status = status_of_attempt(5);
  for (const int attempt : {2, 4}) note_failure("bad", attempt, status);
  PodView pod = running_pod(1);
  JobProgress progress = told("PodLost", 5, 1);
  pod.created_at = *progress.event_at - 15s;
  const auto lost = [&](std::chrono::seconds agent_patience) {
    return judge_report(job().spec, status, progress, {running_pod(0), pod}, kStart + 10s, agent_patience);
  };
  EXPECT_FALSE(lost(20s).counts) << "it moves away, and is not what was lost";
  EXPECT_TRUE(lost(5s).counts);
}

// Its pods come back to it where no other has room.
TEST(MachinePolicy, AMachineThatIsSilentAgainAndAgainUsesTheRestartsUp) {
  const v1alpha1::JobSpec spec = job(R"(, "failurePolicy": {"maxRestarts": 2})").spec;
  v1alpha1::JobStatus status = status_of_attempt(1);
  const auto silent = [&](int attempt, const PodView& pod) {
    return judge_report(spec, status, told("PodLost", attempt, 1), {running_pod(0), pod}, kStart + 10s,
                        policy::kPatienceInPods);
  };
  for (const int attempt : {1, 2}) {
    const FailureVerdict restart = silent(attempt, running_pod(1));
    ASSERT_EQ(restart.course, Verdict::Course::kRestarts);
    count_restart(spec.failure_policy(), restart, kStart, status);
  }
  ASSERT_THAT(avoided_machines(status), ElementsAre("machine-1"));
  PodView back = running_pod(1, 3);
  back.created_at = kStart - 60s;
  for (const PodView& pod : {running_pod(1), back})
    EXPECT_EQ(silent(3, pod).reason, reasons::kMaxRestartsReached) << pod.name;
  back.created_at = kStart - 10s;
  EXPECT_FALSE(silent(3, back).counts) << "the one before it was lost, which was deleted";
}

// As on a host that a queue has chosen, which no pod leaves.
TEST(MachinePolicy, APodThatEndsByItselfWhilePodsMoveCostsARestart) {
  v1alpha1::JobStatus status = status_of_attempt(3);
  for (const int attempt : {1, 2}) note_failure("machine-1", attempt, status);
  const auto lose = [&](const PodView& pod) {
    return judge_losses(job(R"(, "failurePolicy": {"maxRestarts": 0})").spec, status,
                        {running_pod(0, 3), pod}, 2, kStart)
        .course;
  };
  PodView crashed = ended_pod(1, 139, kStart, 3);
  EXPECT_EQ(lose(crashed), Verdict::Course::kFails);
  crashed.gone_by = kStart;
  EXPECT_EQ(lose(crashed), Verdict::Course::kRestarts) << "it was deleted";
}

TEST(MachinePolicy, OnlyPodsThatWereThereMoveAway) {
  v1alpha1::JobStatus status = status_of_attempt(5);
  for (const int attempt : {2, 4}) note_failure("machine-1", attempt, status);
  EXPECT_TRUE(must_move(running_pod(1, 4), status));
  EXPECT_FALSE(must_move(running_pod(1, 5), status)) << "somebody bound it by hand";
  EXPECT_FALSE(must_move(running_pod(0, 1), status));
  status.set_attempt(6);
  EXPECT_FALSE(must_move(running_pod(1, 4), status))
      << "the failure became known late, and the gang runs again";
}

TEST(MachinePolicy, AnEventNamesTheMachineOnce) {
  v1alpha1::JobStatus before;
  note_failure("bad", 1, before);
  v1alpha1::JobStatus after = before;
  note_failure("bad", 2, after);
  const std::vector<Note> notes = story_of(before, after);
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(notes[0].reason, reasons::kNodeAvoided);
  EXPECT_THAT(notes[0].text, HasSubstr("node bad"));
  EXPECT_THAT(story_of(after, after), IsEmpty());
}

}  // namespace
}  // namespace caravan::controller::testing
