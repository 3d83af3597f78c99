#include "operator/testing/crash_scenario.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/api/conditions.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

// Rounds without a write, after which none comes any more: more than a minute, in which agents say farewell.
constexpr int kLongQuiet = 5;
constexpr int kMostRounds = 200;

v1alpha1::JobStatus without_what_depends_on_the_run(v1alpha1::JobStatus status) {
  status.clear_certificates();
  status.clear_start_time();
  status.clear_completion_time();
  status.clear_restart_window_start();
  status.mutable_progress()->clear_last_update_time();
  for (auto& condition : *status.mutable_conditions()) condition.clear_last_transition_time();
  return status;
}

}  // namespace

void expect_no_double(const Objects& pods) {
  std::set<std::string> nodes;
  for (const auto& [name, pod] : pods) {
    if (kube::text_at(pod, {"status", "phase"}) == "Failed") continue;
    const std::string node = kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex});
    EXPECT_TRUE(nodes.insert(node).second) << "two living pods of node " << node;
  }
}

CrashScenario::CrashScenario(CrashCluster& cluster, std::function<Fate(int)> fate)
    : cluster_(cluster),
      transport_(cluster.transport(), std::move(fate)),
      client_(cluster.client(transport_)) {
  clock_.advance(cluster_.begins_at() - clock_.wall_now());
  start_operator();
}

std::string CrashScenario::run() {
  for (int round = 0; round < kMostRounds; ++round) {
    const v1alpha1::JobStatus now = status();
    if (is_finished(now) && quiet_ > kLongQuiet) break;
    play(now);
    reconcile();
    expect_no_double(cluster_.pods());
    clock_.advance(quiet_ > 0 ? 20s : 1s);
  }
  return describe();
}

// All that the one before remembered is gone.
void CrashScenario::start_operator() {
  reconciler_.reset();
  transport_.start_sender();
  reconciler_ = std::make_unique<Reconciler>(
      cluster_.new_caches(), client_, clock_, settings(),
      Reconciler::Outside{
          .progress = [this](const std::string&) { return progress_; },
          .forget = [](const std::string&) {},
          .record = [this](const Job&,
                           const Note& note) { told_.push_back(note.action + " " + note.reason); },
          .decided = [](const Snapshot&, const Decision&, Clock::Duration) {},
          .put_off = [] { ADD_FAILURE() << "the caches have not seen the operator's own writes"; },
          .ask_for_checkpoint = [](const std::string&, const std::string&) {}});
}

void CrashScenario::reconcile() {
  cluster_.settle();
  const int before = writes();
  const auto outcome = reconciler_->reconcile({}, kube::key_of(cluster_.job()));
  quiet_ = writes() == before ? quiet_ + 1 : 0;
  if (!outcome || transport_.sender_died()) start_operator();
  cluster_.settle();
}

v1alpha1::JobStatus CrashScenario::status() {
  return read_job_but_spec(cluster_.job()).status;
}

// Pods start in the round after their creation; then the user and fate do their part, once each.
void CrashScenario::play(const v1alpha1::JobStatus& now) {
  const bool all_run = start_pods() == 2;
  if (is_finished(now)) return;
  if (all_run && may_begin(now.attempt()) && progress_.attempt < now.attempt())
    progress_ = {.attempt = now.attempt()};
  if (!is_true(now, conditions::kRunning) || !all_run) {
    if (is_true(now, conditions::kSuspended) && cluster_.pods().empty()) cluster_.set_suspended(false);
    return;
  }
  switch (now.attempt()) {
    case 1:
      return end_pod("train-1-a1", "Failed", 137);
    case 2:
      return cluster_.set_suspended(true);
    case 3:
      return end_pod("train-0-a3", "Failed", 137);
    case 4:
      return run_out_of_memory(4);
    default:
      return make_last_step(now.attempt());
  }
}

// A coordinator whose rank ran out of memory gives the time to plan again: what follows begins in new pods.
bool CrashScenario::may_begin(int attempt) {
  const Objects pods = cluster_.pods();
  return attempt < 5 || (pods.contains("train-0-a5") && pods.contains("train-1-a5"));
}

int CrashScenario::start_pods() {
  int running = 0;
  for (const auto& [name, pod] : cluster_.pods()) {
    const bool is_new = kube::text_at(pod, {"spec", "nodeName"}).empty();
    if (is_new) {
      cluster_.bind(name);
      cluster_.mark(name, {{"phase", "Running"}});
    }
    if (is_new || kube::text_at(pod, {"status", "phase"}) == "Running") ++running;
  }
  return running;
}

void CrashScenario::end_pod(const std::string& name, const char* phase, int exit_code) {
  const kube::JsonObject ended{{"exitCode", exit_code}, {"finishedAt", to_text(clock_.wall_now())}};
  cluster_.mark(name, {{"phase", phase},
                       {"containerStatuses", kube::JsonArray{kube::JsonObject{
                                                 {"name", "worker"},
                                                 {"image", "worker:test"},
                                                 {"imageID", ""},
                                                 {"ready", false},
                                                 {"restartCount", 0},
                                                 {"state", kube::JsonObject{{"terminated", ended}}}}}}});
}

void CrashScenario::run_out_of_memory(int attempt) {
  progress_.event.emplace();
  progress_.event->set_attempt(attempt);
  progress_.event->set_reason(reasons::kOutOfMemory);
  progress_.event->set_message("rank 1 died first");
  progress_.event->mutable_shortage()->set_term("activations");
  progress_.event->mutable_shortage()->set_planned_bytes(100);
  progress_.event->mutable_shortage()->set_used_bytes(200);
  progress_.event->set_restarting(true);
  progress_.event->set_counts(true);
}

void CrashScenario::make_last_step(int attempt) {
  v1alpha1::JobStep step;
  step.set_attempt(attempt);
  step.set_step(100);
  step.set_loss(2.5);
  progress_.step = step;
  for (const std::string name : {"train-0-a5", "train-1-a5"}) end_pod(name, "Succeeded", 0);
}

std::string CrashScenario::describe() {
  const kube::Json job = cluster_.job();
  const std::string uid = kube::uid_of(job);
  const v1alpha1::JobStatus status = read_job_but_spec(job).status;
  const std::string complete_set = "train-tls-" + status.certificates().set() + "-";
  std::string text = text_of(without_what_depends_on_the_run(status));
  for (const kube::Resource& resource :
       {kube::kPods, kServices, kConfigMaps, kServiceAccounts, kNetworkPolicies, kSecrets}) {
    for (const auto& [name, child] : cluster_.children(resource)) {
      EXPECT_EQ(kube::controller_uid_of(child), uid) << resource.plural << "/" << name << " is an orphan";
      const bool of_a_set = resource == kSecrets;
      if (of_a_set && name.rfind(complete_set, 0) != 0) continue;  // that a crash cut off
      text += fmt::format("\n{}/{}", resource.plural,
                          of_a_set ? "train-tls-SET-" + name.substr(complete_set.size()) : name);
    }
  }
  return text;
}

}  // namespace caravan::controller::testing
