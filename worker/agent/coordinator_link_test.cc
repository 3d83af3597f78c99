#include "worker/agent/coordinator_link.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/listen.h"
#include "common/testing/await.h"
#include "policy/failure_policy.h"
#include "worker/agent/coordinator_server.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoordinatorLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = CoordinatorServer::start({.shape = {.nodes = 1, .world_size = 1}, .job_uid = "uid"},
                                           {.listen = "127.0.0.1:0"}, [](const v1alpha1::JobReport&) {});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  // Within `patience`.
  static void expect_welcome(const CoordinatorAddress& address, milliseconds patience) {
    Mailbox<LinkEvent> events;
    CoordinatorLink link(address, events);
    v1alpha1::AgentHello hello;
    hello.set_job_uid("uid");
    link.connect(hello);
    pollfd answered{events.fd(), POLLIN, 0};
    poll(&answered, 1, static_cast<int>(patience.count()));
    const std::vector<LinkEvent> answer = events.take();
    ASSERT_FALSE(answer.empty()) << "nothing came within " << patience.count() << " ms";
    const auto* message = std::get_if<LinkMessage>(&answer.front());
    ASSERT_TRUE(message) << std::get<LinkBroken>(answer.front()).why;
    EXPECT_TRUE(message->message.has_welcome());
  }

  std::unique_ptr<CoordinatorServer> server_;
};

TEST_F(CoordinatorLinkTest, GoesPastAProxyOfTheEnvironment) {
  setenv("grpc_proxy", "http://127.0.0.1:1", /*replace=*/1);  // where nobody listens
  expect_welcome({.where = server_->address()}, test::kPatience);
  unsetenv("grpc_proxy");
}

TEST_F(CoordinatorLinkTest, FindsTheAddressThatLivesBehindOneThatDoesNotAnswer) {
  const auto dead = listen_on("127.0.0.1", "0");  // nobody accepts
  ASSERT_TRUE(dead) << dead.error().message;
  expect_welcome({.where = fmt::format("ipv4:127.0.0.1:{},{}", dead->port, server_->address()),
                  .connect_timeout = connect_timeout_of(seconds(4))},
                 policy::kPatienceInPods / 2);
}

TEST_F(CoordinatorLinkTest, PatienceLastsForSeveralAddresses) {
  EXPECT_EQ(connect_timeout_of(policy::kPatienceInPods), seconds(3));
  EXPECT_EQ(connect_timeout_of(milliseconds(8000)), seconds(2));
}

}  // namespace
}  // namespace caravan::agent
