#include "worker/agent/coordinator_link.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <variant>
#include <vector>

#include "worker/agent/coordinator_server.h"

namespace caravan::agent {
namespace {

TEST(CoordinatorLink, GoesPastAProxyOfTheEnvironment) {
  setenv("grpc_proxy", "http://127.0.0.1:1", /*replace=*/1);  // where nobody listens
  const auto server = CoordinatorServer::start({.shape = {.nodes = 1, .world_size = 1}, .job_uid = "uid"},
                                               {.listen = "127.0.0.1:0"}, [](const v1alpha1::JobReport&) {});
  ASSERT_TRUE(server) << server.error().message;
  Mailbox<LinkEvent> events;
  CoordinatorLink link({.where = (*server)->address()}, events);
  v1alpha1::AgentHello hello;
  hello.set_job_uid("uid");
  link.connect(hello);
  pollfd answered{events.fd(), POLLIN, 0};
  poll(&answered, 1, static_cast<int>(std::chrono::milliseconds(std::chrono::seconds(60)).count()));
  unsetenv("grpc_proxy");
  const std::vector<LinkEvent> answer = events.take();
  ASSERT_FALSE(answer.empty());
  const auto* message = std::get_if<LinkMessage>(&answer.front());
  ASSERT_TRUE(message) << std::get<LinkBroken>(answer.front()).why;
  EXPECT_TRUE(message->message.has_welcome());
}

}  // namespace
}  // namespace caravan::agent
