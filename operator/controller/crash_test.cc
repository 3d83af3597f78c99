// The operator dies at each of its writes, before the write leaves or once it has the answer, or the write or
// its answer is lost: a job that is created, loses a pod, is suspended and resumed, loses the pod of the
// coordinator, starts again after a failed rank and completes always ends the same.
#include <gmock/gmock.h>

#include <set>

#include "common/testing/manual_clock.h"
#include "operator/controller/conditions.h"
#include "operator/controller/reconciler.h"
#include "operator/testing/jobs.h"
#include "operator/testing/model_api.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

class NoCredentials final : public kube::Credentials {
 public:
  kube::ApiResult<std::string> token() override { return std::string("token"); }
  kube::ApiResult<kube::TlsMaterial> tls() override { return kube::TlsMaterial{}; }
  void forget() override {}
};

// Rounds without a write, after which none comes any more: more than a minute, in which agents say farewell.
constexpr int kLongQuiet = 5;

// The cluster, its kubelet and its user, in rounds of a second, or longer ones when nothing happens.
class World {
 public:
  explicit World(std::function<Fate(int)> fate) {
    api_.put("llamatrainingjobs", job_object());
    api_.fate = std::move(fate);
    start_operator();
  }

  // Until nothing is left to do; what the cluster looks like then.
  std::string run() {
    for (int round = 0; round < 200 && !(is_over() && quiet_ > kLongQuiet); ++round) {
      play();
      reconcile();
      check_pods();
      clock_.advance(quiet_ > 0 ? 20s : 1s);
    }
    return describe();
  }

  int writes() const { return api_.writes(); }
  // The events, in order.
  const std::vector<std::string>& told() const { return told_; }

 private:
  v1alpha1::JobStatus status() { return read_job_but_spec(api_.of("llamatrainingjobs").at("train")).status; }
  bool is_over() { return is_finished(status()); }

  void start_operator() {
    api_.start_sender();
    reconciler_ = std::make_unique<Reconciler>(
        Caches{jobs_, pods_, services_, config_maps_, accounts_, network_policies_, nodes_}, client_, clock_,
        settings(),
        Reconciler::Outside{
            .progress = [this](const std::string&) { return progress_; },
            .forget = [](const std::string&) {},
            .record = [this](const Job&,
                             const Note& note) { told_.push_back(note.action + " " + note.reason); },
            .decided = [](const Snapshot&, const Decision&, Clock::Duration) {},
            .put_off = [] {}});
  }

  void reconcile() {
    api_.fill(jobs_, "llamatrainingjobs");
    api_.fill(pods_, "pods");
    api_.fill(services_, "services");
    api_.fill(config_maps_, "configmaps");
    api_.fill(accounts_, "serviceaccounts");
    api_.fill(network_policies_, "networkpolicies");
    const int before = api_.writes();
    const auto outcome = reconciler_->reconcile({}, {"team", "train"});
    quiet_ = api_.writes() == before ? quiet_ + 1 : 0;
    if (!outcome || api_.sender_died()) start_operator();  // all that it remembered is gone
  }

  // Pods start in the round after their creation; then the user and fate do their part, once each.
  void play() {
    const v1alpha1::JobStatus now = status();
    const bool all_run = start_pods() == 2;
    if (is_finished(now)) return;
    if (all_run && now.attempt() > 0 && progress_.attempt < now.attempt())
      progress_ = {.attempt = now.attempt()};
    if (!is_true(now, conditions::kRunning) || !all_run) {
      if (is_true(now, conditions::kSuspended) && api_.of("pods").empty()) suspend(false);
      return;
    }
    switch (now.attempt()) {
      case 1:
        return end_pod("train-1-a1", "Failed", 137);
      case 2:
        return suspend(true);
      case 3:
        return end_pod("train-0-a3", "Failed", 137);
      case 4:
        return fail_rank(4);
      default:
        return make_last_step(now.attempt());
    }
  }

  void fail_rank(int attempt) {
    progress_.event.emplace();
    progress_.event->set_attempt(attempt);
    progress_.event->set_reason("RankFailed");
    progress_.event->set_message("rank 1 died first");
    progress_.event->set_restarting(true);
    progress_.event->set_counts(true);
  }

  void make_last_step(int attempt) {
    v1alpha1::JobStep step;
    step.set_attempt(attempt);
    step.set_step(100);
    step.set_loss(2.5);
    progress_.step = step;
    for (const std::string name : {"train-0-a4", "train-1-a3"}) end_pod(name, "Succeeded", 0);
  }

  int start_pods() {
    int running = 0;
    for (auto [name, pod] : ModelApi::Objects(api_.of("pods"))) {
      if (kube::find(pod, {"status"}) == nullptr) {
        pod.as_object()["spec"].as_object()["nodeName"] = "machine";
        pod.as_object()["status"] = kube::JsonObject{{"phase", "Running"}};
        api_.put("pods", pod);
      }
      if (kube::text_at(pod, {"status", "phase"}) == "Running") ++running;
    }
    return running;
  }

  void end_pod(const std::string& name, const char* phase, int code) {
    const kube::JsonObject ended{{"exitCode", code}, {"finishedAt", to_text(clock_.wall_now())}};
    kube::Json pod = api_.of("pods").at(name);
    pod.as_object()["status"] = kube::JsonObject{
        {"phase", phase},
        {"containerStatuses",
         kube::JsonArray{kube::JsonObject{{"state", kube::JsonObject{{"terminated", ended}}}}}}};
    api_.put("pods", pod);
  }

  void suspend(bool value) {
    kube::Json job = api_.of("llamatrainingjobs").at("train");
    job.as_object()["spec"].as_object()["suspend"] = value;
    job.as_object()["metadata"].as_object()["generation"] = value ? 2 : 3;
    api_.put("llamatrainingjobs", job);
  }

  void check_pods() {
    std::set<std::string> nodes;
    for (const auto& [name, pod] : api_.of("pods")) {
      if (kube::text_at(pod, {"status", "phase"}) == "Failed") continue;
      const std::string node = kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex});
      EXPECT_TRUE(nodes.insert(node).second) << "two living pods of node " << node;
    }
  }

  std::string describe() {
    v1alpha1::JobStatus end = status();
    end.clear_start_time();
    end.clear_completion_time();
    end.clear_restart_window_start();
    end.mutable_progress()->clear_last_update_time();
    for (auto& condition : *end.mutable_conditions()) condition.clear_last_transition_time();
    std::string text = text_of(end);
    for (const char* plural :
         {"pods", "services", "configmaps", "serviceaccounts", "networkpolicies", "secrets"}) {
      for (const auto& [name, object] : api_.of(plural)) text += fmt::format("\n{}/{}", plural, name);
    }
    return text;
  }

  caravan::testing::ManualClock clock_;
  NoCredentials credentials_;
  kube::Observer observer_;
  ModelApi api_;
  kube::Client client_{api_, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_};
  kube::Store jobs_, pods_, services_, config_maps_, accounts_, network_policies_, nodes_;
  JobProgress progress_;
  std::vector<std::string> told_;
  std::unique_ptr<Reconciler> reconciler_;
  int quiet_ = 0;
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
