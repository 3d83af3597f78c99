#include "cli/cluster/service/channel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>

#include "common/certificates.h"
#include "common/listen.h"

namespace caravan::cli {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  ~ChannelTest() override { unsetenv("grpc_proxy"); }

  static void use_proxy(int port) {
    setenv("grpc_proxy", fmt::format("http://127.0.0.1:{}", port).c_str(), /*overwrite=*/1);
    for (const char* exception : {"no_grpc_proxy", "no_proxy"}) unsetenv(exception);
  }

  // Whether the way to that address begins with a connection to that socket.
  static bool leads_to(const ListeningSocket& socket, const std::string& address) {
    const auto authority = make_authority("nobody's", std::chrono::hours(1));
    const auto channel = open_channel({.address = address, .root_pem = authority->certificate_pem});
    for (int tries = 0; tries < 100; ++tries) {
      const auto soon = std::chrono::system_clock::now() + std::chrono::milliseconds(100);
      static_cast<void>(channel->WaitForConnected(soon));
      pollfd caller{socket.fd.get(), POLLIN, 0};
      if (poll(&caller, 1, 0) == 1) return true;
    }
    return false;
  }
};

TEST_F(ChannelTest, AsksNoProxyOfTheEnvironmentForThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const auto socket = listen_on("127.0.0.1", "0");
    ASSERT_TRUE(socket) << socket.error().message;
    use_proxy(9);  // nobody is there
    EXPECT_TRUE(leads_to(*socket, fmt::format("{}:{}", host, socket->port))) << host;
  }
}

TEST_F(ChannelTest, AsksTheProxyOfTheEnvironmentForAnyOtherMachine) {
  const auto socket = listen_on("127.0.0.1", "0");
  ASSERT_TRUE(socket) << socket.error().message;
  use_proxy(socket->port);
  EXPECT_TRUE(leads_to(*socket, "caravan.example.com:443"));
}

}  // namespace
}  // namespace caravan::cli
