// Two coordinators of one job, as after a machine was cut off from the cluster's API.
#include "worker/agent/succession.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>

#include "worker/agent/coordinator_server.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{60};

class SuccessionTest : public ::testing::Test {
 protected:
  // The coordinator of another agent of node 0, which has joined it.
  void SetUp() override {
    auto server = CoordinatorServer::start({.shape = {.nodes = 2, .world_size = 2}, .job_uid = "uid"},
                                           {.listen = "127.0.0.1:0"}, [](const v1alpha1::JobReport&) {});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    link_.emplace(CoordinatorAddress{.where = server_->address()}, events_);
    v1alpha1::AgentHello hello;
    hello.set_job_uid("uid");
    hello.set_incarnation("other");
    hello.set_first_attempt(4);
    link_->connect(hello);
    pollfd welcome{events_.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&welcome, 1, static_cast<int>(milliseconds(kPatience).count())), 1);
  }

  // Whether one that was made for this attempt learns that it is not the newest, before it has looked a third
  // time.
  bool hears_of_a_newer_one(const std::string& incarnation, int first_attempt) {
    struct Heard {
      std::mutex mutex;
      std::condition_variable changed;
      int looks = 0;
      bool newer = false;
    };
    const auto heard = std::make_shared<Heard>();  // a look may outlive the test
    const Succession succession(
        {.coordinator = "name:1",
         .job_uid = "uid",
         .incarnation = incarnation,
         .first_attempt = first_attempt,
         .pause = milliseconds(1),
         .patience = kPatience},
        [heard, address = server_->address()](const std::string& name) {
          EXPECT_EQ(name, "name:1");
          const std::scoped_lock lock(heard->mutex);
          ++heard->looks;
          heard->changed.notify_all();
          return std::vector<std::string>{address};
        },
        [heard] {
          const std::scoped_lock lock(heard->mutex);
          heard->newer = true;
          heard->changed.notify_all();
        });
    std::unique_lock lock(heard->mutex);
    EXPECT_TRUE(heard->changed.wait_for(lock, kPatience, [&] { return heard->newer || heard->looks > 2; }));
    return heard->newer;
  }

  std::unique_ptr<CoordinatorServer> server_;
  Mailbox<LinkEvent> events_;
  std::optional<CoordinatorLink> link_;
};

TEST_F(SuccessionTest, TheOlderOneLearnsThatItWasReplaced) {
  EXPECT_TRUE(hears_of_a_newer_one("own", 3));
}

TEST_F(SuccessionTest, TheNewerOneGoesOn) {
  EXPECT_FALSE(hears_of_a_newer_one("own", 5));
}

TEST_F(SuccessionTest, AnAgentThatFindsItselfGoesOn) {
  EXPECT_FALSE(hears_of_a_newer_one("other", 4));
}

TEST(Succession, EndsWhileANameServerDoesNotAnswer) {
  struct NameServer {
    std::promise<void> asked;
    std::promise<void> answers;
    std::atomic<bool> has_answered = false;
  };
  const auto server = std::make_shared<NameServer>();
  {
    const Succession succession(
        {.coordinator = "name:1"},
        [server](const std::string&) {
          server->asked.set_value();
          server->answers.get_future().wait_for(kPatience);
          server->has_answered = true;
          return std::vector<std::string>();
        },
        [] {});
    server->asked.get_future().wait();
  }
  EXPECT_FALSE(server->has_answered) << "the end waited for it";
  server->answers.set_value();
}

TEST(AddressesOf, AreNumbersWithThePort) {
  EXPECT_EQ(addresses_of("127.0.0.1:7070"), std::vector<std::string>{"127.0.0.1:7070"});
  EXPECT_EQ(addresses_of("::1:7070"), std::vector<std::string>{"[::1]:7070"});
  EXPECT_TRUE(addresses_of("no.such.name.invalid:7070").empty());
}

}  // namespace
}  // namespace caravan::agent
