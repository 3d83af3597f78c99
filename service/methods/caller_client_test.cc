// Calls as the caller, to a server whose authority is replaced.
#include "service/methods/caller_client.h"

#include <gtest/gtest.h>

#include "common/certificates.h"
#include "common/host_port.h"
#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"
#include "http/server.h"
#include "http/texts.h"
#include "kube/config/config_credentials.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;

TEST(CallerClients, ReadTheAuthorityAgainOnceTheOldOneDoesNotDo) {
  const KeyPair authority = make_authority("authority", 1h).value();
  const KeyPair shown = issue_certificate(authority, {.common_name = "api", .dns_names = {"api"}}).value();
  const auto server = http::Server::start(
      "127.0.0.1:0", http::serve_texts([](std::string_view) {
        return http::Reply{.content_type = "application/json", .body = "{}"};
      }),
      {},
      http::make_tls_context({.certificate_pem = shown.certificate_pem, .key_pem = shown.key_pem}).value());
  ASSERT_TRUE(server) << server.error().message;
  const test::TemporaryFolder folder;
  const std::string file = folder.write("ca.crt", make_authority("another", 1h).value().certificate_pem);
  ::caravan::testing::ManualClock clock;
  kube::ConfigCredentials own({.authority = {.file = file}}, clock);
  kube::Observer observer;
  const kube::Peer peer{.server = {"127.0.0.1", port_of(server->address())}, .verified_name = "api"};
  CallerClients clients(peer, own, clock, observer, {.retry = {.tries = 1}});
  auto client = clients.client_of({.caller = {.user = "ada", .token = "secret"}});
  ASSERT_TRUE(client) << client.error().message;
  const kube::ResourcePath pods{.resource = kube::kPods, .name_space = "team"};
  const auto refused = (*client)->get({}, pods, "a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, kube::ErrorKind::kUntrusted) << refused.error().message;
  folder.write("ca.crt", authority.certificate_pem);
  const auto answer = (*client)->get({}, pods, "a");
  EXPECT_TRUE(answer) << answer.error().message;
}

}  // namespace
}  // namespace caravan::service
