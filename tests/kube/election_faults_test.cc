// Leader election against a server that keeps one lease and misbehaves.

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>
#include <latch>

#include "common/process.h"
#include "common/testing/turn.h"
#include "kube/election/elector.h"
#include "tests/kube/objects.h"
#include "tests/kube/pausable_leader.h"
#include "tests/kube/scripted_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// One lease, which is there from the start, with the conflicts of a real server. `before_write` may hold up a
// write.
class LeaseKeeper {
 public:
  std::function<void(Exchange&)> before_write = [](Exchange&) {};

  void operator()(Exchange& exchange) {
    const std::string& method = exchange.request().method;
    if (method != "GET") before_write(exchange);
    const std::lock_guard guard(mutex_);
    if (method == "GET") return exchange.reply(200, boost::json::serialize(lease_));
    Json wanted = parse_json(exchange.request().body, "a lease").value();
    if (version_of(wanted) != version_of(lease_)) return exchange.reply(409, status_json(409, "Conflict"));
    wanted.get_object()["metadata"].get_object()["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(wanted);
    exchange.reply(200, boost::json::serialize(lease_));
  }

  std::string holder() const {
    const std::lock_guard guard(mutex_);
    return text_at(lease_, {"spec", "holderIdentity"});
  }

  void give_to(const std::string& holder) {
    const std::lock_guard guard(mutex_);
    lease_.get_object()["spec"].get_object()["holderIdentity"] = holder;
    lease_.get_object()["metadata"].get_object()["resourceVersion"] = std::to_string(++version_);
  }

 private:
  mutable std::mutex mutex_;
  Json lease_ = JsonObject{{"metadata", JsonObject{{"namespace", "s"}, {"name", "operator"}}}};
  int version_ = 0;
};

class ElectionFaults : public ScriptedClientTest {
 protected:
  ElectionFaults() {
    serve([this](Exchange& exchange) { keeper_(exchange); });
  }

  // Before what its scripts use.
  ~ElectionFaults() override { server_.reset(); }

  std::unique_ptr<Elector> elector(const std::string& identity) {
    return std::make_unique<Elector>(
        config_, clock_, [] { return 0.0; }, recorder_, ClientOptions{},
        ElectionConfig{.identity = identity, .lease = {"s", "operator"}});
  }

  LeaseKeeper keeper_;
  std::atomic<bool> hang_ = false;
};

TEST_F(ElectionFaults, ARenewalThatHangsCostsTheLeadershipAtTheDeadline) {
  keeper_.before_write = [this](Exchange& exchange) {
    if (hang_) exchange.hang();
  };
  const auto leader = elector("a");
  auto outcome = std::async(std::launch::async, [&] { return leader->run({}, [] {}); });
  await([&] { return leader->may_write(); });
  hang_ = true;
  clock_.await_sleeper(2s);  // the retry period
  clock_.advance(2s);
  clock_.await_sleeper(5s);  // the time-out of a lease call
  clock_.advance(8s);
  EXPECT_FALSE(leader->may_write()) << "by the clock, before the loop has noticed";
  EXPECT_EQ(outcome.get(), Elector::Outcome::kLost);
}

TEST_F(ElectionFaults, ARenewalDoesNotWaitBehindWritesThatHang) {
  serve([this](Exchange& exchange) {
    if (exchange.request().method == "PATCH") exchange.hang();
    keeper_(exchange);
  });
  const auto leader = elector("a");
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] { return leader->run(stop.get_token(), [] {}); });
  await([&] { return leader->may_write(); });
  std::vector<std::jthread> writes;
  for (int i = 0; i < PoolLimits{}.calls_at_once; ++i) {
    writes.emplace_back(
        [&] { EXPECT_FALSE(client_->merge({.stop = stop.get_token()}, pods_, "a", JsonObject{})); });
  }
  await([&] { return requests("PATCH") == PoolLimits{}.calls_at_once; });
  const int before = requests("PUT");
  clock_.await_sleeper(2s);  // the retry period
  clock_.advance(2s);
  await([&] { return requests("PUT") > before || !leader->may_write(); });
  EXPECT_EQ(requests("PUT"), before + 1);
  stop.request_stop();
  EXPECT_EQ(outcome.get(), Elector::Outcome::kStopped);
}

TEST_F(ElectionFaults, ARenewalThatConflictsWithAnotherHolderIsTheEnd) {
  const auto leader = elector("a");
  auto outcome = std::async(std::launch::async, [&] { return leader->run({}, [] {}); });
  await([&] { return leader->may_write(); });
  keeper_.give_to("b");
  clock_.await_sleeper(2s);
  clock_.advance(2s);
  EXPECT_EQ(outcome.get(), Elector::Outcome::kLost);
  EXPECT_EQ(keeper_.holder(), "b");
}

TEST_F(ElectionFaults, ALoopThatHangsWhileItLeadsIsNotHealthy) {
  const auto leader = elector("a");
  std::latch hang(1);
  auto outcome = std::async(std::launch::async, [&] { return leader->run({}, [&] { hang.wait(); }); });
  await([&] { return leader->may_write(); });
  clock_.advance(24s);
  EXPECT_TRUE(leader->healthy()) << "the renew deadline and the lease duration are not over";
  clock_.advance(1s);
  EXPECT_FALSE(leader->healthy());
  hang.count_down();
  clock_.await_sleeper(2s);
  clock_.advance(2s);
  EXPECT_EQ(outcome.get(), Elector::Outcome::kLost);
  EXPECT_TRUE(leader->healthy()) << "it has stepped down";
}

TEST_F(ElectionFaults, AStopKeepsTheLeaseUntilItIsReleased) {
  const auto leader = elector("a");
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] { return leader->run(stop.get_token(), [] {}); });
  await([&] { return leader->may_write(); });
  stop.request_stop();
  EXPECT_EQ(outcome.get(), Elector::Outcome::kStopped);
  EXPECT_EQ(keeper_.holder(), "a");
  EXPECT_TRUE(leader->release({}));
  EXPECT_EQ(keeper_.holder(), "");
  EXPECT_FALSE(leader->may_write());
}

TEST_F(ElectionFaults, ALostLeaseIsNotReleasedForItsNewHolder) {
  const auto leader = elector("a");
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] { return leader->run(stop.get_token(), [] {}); });
  await([&] { return leader->may_write(); });
  stop.request_stop();
  outcome.get();
  keeper_.give_to("b");
  EXPECT_TRUE(leader->release({}));
  EXPECT_EQ(keeper_.holder(), "b");
}

// With the system's clock and a real process, since what is tested is that a stopped process notices the
// time.
class PausedLeader : public ElectionFaults {
 protected:
  PausedLeader() {
    serve([this](Exchange& exchange) {
      if (exchange.request().method != "PATCH") return keeper_(exchange);
      const std::string writer = text_at(parse_json(exchange.request().body, "a pod").value(), {"writer"});
      remember(writer);
      // The leader is stopped while it waits for this answer, so that it is between two writes.
      if (writer == "paused") successor_leads_.wait();
      exchange.reply(200, "{}");
    });
    std::ofstream(authority_) << server_->authority().certificate_pem;
  }
  ~PausedLeader() override {
    server_.reset();
    fs::remove(authority_);
  }

  void remember(const std::string& writer) {
    const std::lock_guard guard(mutex_);
    writers_.push_back(writer);
  }
  std::vector<std::string> writers() const {
    const std::lock_guard guard(mutex_);
    return writers_;
  }

  fs::path authority_ = fs::temp_directory_path() / fmt::format("authority.{}.pem", ::getpid());
  std::latch successor_leads_{1};
  mutable std::mutex mutex_;
  std::vector<std::string> writers_;
};

TEST_F(PausedLeader, WakesUpAfterItsLeaseAndEndsWithoutAWrite) {
  CARAVAN_BY_TURNS();
  auto paused =
      Process::spawn({.program = PAUSABLE_LEADER,
                      .arguments = {std::to_string(server_->port()), authority_.string(), "paused"}});
  ASSERT_TRUE(paused) << paused.error().message;
  await([&] { return writers().size() == 1; });
  paused->signal_group(SIGSTOP);
  await([&] { return paused->is_stopped(); });

  SystemClock clock;
  const ClientConfig config{.server = {.host = "127.0.0.1", .port = std::to_string(server_->port())},
                            .authority = {.file = authority_.string()}};
  ConfigCredentials credentials(config, clock);
  PooledTransport transport(peer_of(config), credentials, clock);
  Client client(transport, credentials, clock, system_random(), {}, recorder_);
  Elector successor(config, clock, system_random(), recorder_, {}, leader_config("successor"));
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] { return successor.run(stop.get_token(), [] {}); });
  await([&] { return successor.may_write(); });
  EXPECT_TRUE(client.merge({}, pods_, "a", JsonObject{{"writer", "successor"}}));
  successor_leads_.count_down();

  paused->signal_group(SIGCONT);
  EXPECT_EQ(paused->wait(), ExitStatus{.exit_code = kLostTheLease});
  EXPECT_EQ(writers(), (std::vector<std::string>{"paused", "successor"}));
  EXPECT_EQ(keeper_.holder(), "successor");
  stop.request_stop();
  outcome.get();
}

}  // namespace
}  // namespace caravan::kube::testing
