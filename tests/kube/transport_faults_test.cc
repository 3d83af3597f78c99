// Connections: whom they trust, how long they live, what is done when the other end goes away.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <latch>

#include "common/testing/temporary_folder.h"
#include "tests/kube/connect_proxy.h"
#include "tests/kube/scripted_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The descriptor of this process that is connected to that port; -1 when there is none.
int descriptor_connected_to(int port) {
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_family == AF_INET &&
        ntohs(peer.sin_port) == port) {
      return fd;
    }
  }
  return -1;
}

int socket_option(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  ::getsockopt(fd, level, option, &value, &size);
  return value;
}

class TransportFaults : public ScriptedClientTest {
 protected:
  ApiResult<Json> get() { return client_->get({}, pods_, "a"); }
  std::string refusal() {
    const auto answer = get();
    return answer ? "no refusal" : answer.error().message;
  }
};

TEST_F(TransportFaults, AConnectionServesManyCalls) {
  serve(reply_with(200, "{}"));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(get());
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(TransportFaults, ManyCallsAtOnceUseTheirConnectionsAgain) {
  constexpr int kCalls = 40;
  std::atomic<int> arrived = 0;
  // None is answered before all of a round are there.
  serve([&](Exchange& exchange) {
    const int round = arrived++ / kCalls;
    await([&] { return arrived >= (round + 1) * kCalls; });
    exchange.reply(200, "{}");
  });
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<bool>> calls;
    for (int i = 0; i < kCalls; ++i)
      calls.push_back(std::async(std::launch::async, [this] { return get().has_value(); }));
    for (auto& call : calls) EXPECT_TRUE(call.get());
  }
  EXPECT_EQ(server_->connections(), kCalls);
}

TEST_F(TransportFaults, AConnectionThatTheServerClosedMeanwhileIsNotUsed) {
  std::latch closed(1);
  serve([&](Exchange& exchange) {
    exchange.reply(200, "{}");
    if (exchange.request().body == R"("last")") {
      exchange.end();
      closed.count_down();
    }
  });
  ASSERT_TRUE(client_->create({}, pods_, "last"));
  closed.wait();
  // A create is never repeated, so it succeeds only on a fresh connection.
  EXPECT_TRUE(client_->create({}, pods_, "next"));
}

TEST_F(TransportFaults, APeerThatVanishesIsNoticedByTheKernel) {
  serve(reply_with(200, "{}"));
  ASSERT_TRUE(get());
  const int fd = descriptor_connected_to(server_->port());
  ASSERT_GE(fd, 0);
  EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
}

TEST_F(TransportFaults, ACallThroughAProxyReachesTheServer) {
  serve(reply_with(200, "{}"));
  const ConnectProxy proxy("200 OK");
  connect({.proxy = Endpoint{.host = "127.0.0.1", .port = std::to_string(proxy.port())}});
  EXPECT_TRUE(get());
  EXPECT_THAT(proxy.targets(), ElementsAre(fmt::format("127.0.0.1:{}", server_->port())));
}

TEST_F(TransportFaults, AProxyThatRefusesIsQuoted) {
  serve(reply_with(200, "{}"));
  const ConnectProxy proxy("407 Proxy Authentication Required");
  connect({.proxy = Endpoint{.host = "127.0.0.1", .port = std::to_string(proxy.port())}},
          {.retry = {.tries = 1}});
  EXPECT_THAT(refusal(), HasSubstr("refused the connection: 407 Proxy Authentication Required"));
}

TEST_F(TransportFaults, ARotatedClientCertificateIsShownByTheNextCall) {
  const KeyPair authority = make_authority("client authority", 1h).value();
  const auto issue = [&](const std::string& name) {
    return issue_certificate(authority, {.common_name = name, .for_server = false, .for_client = true})
        .value();
  };
  const fs::path file = fs::temp_directory_path() / fmt::format("client.{}.pem", ::getpid());
  const auto write = [&](const KeyPair& pair) {
    std::ofstream(file) << pair.certificate_pem << pair.key_pem;
  };
  serve(reply_with(200, "{}"), {.client_authority_pem = authority.certificate_pem});
  write(issue("first"));
  connect({.certificate = {.file = file.string()}, .key = {.file = file.string()}});
  ASSERT_TRUE(get());
  ASSERT_TRUE(get());
  EXPECT_EQ(server_->connections(), 1);
  write(issue("second"));
  clock_.advance(50s);
  ASSERT_TRUE(get());
  EXPECT_EQ(server_->connections(), 2) << "the idle connection was made with the old certificate";
  fs::remove(file);
}

TEST_F(TransportFaults, AWriteThatWaitedForItsTurnIsNotSentAfterTheLeadershipIsLost) {
  std::latch release(1);
  serve([&](Exchange& exchange) {
    release.wait();
    exchange.reply(200, "{}");
  });
  std::atomic<bool> leader = true;
  connect({}, {.may_write = [&] { return leader.load(); }}, {.calls_at_once = 1});
  auto read = std::async(std::launch::async, [this] { return get(); });
  await([&] { return requests("GET") == 1; });
  auto write = std::async(std::launch::async, [this] { return client_->create({}, pods_, "x"); });
  clock_.await_sleepers(2, 30s);  // the read waits for its answer, the write for its turn
  leader = false;
  release.count_down();
  EXPECT_TRUE(read.get());
  EXPECT_EQ(write.get().error().kind, ErrorKind::kRefusedHere);
  EXPECT_EQ(requests("POST"), 0);
}

TEST_F(TransportFaults, AServerOfAnotherAuthorityIsRefused) {
  serve(reply_with(200, "{}"));
  connect({.authority = {.text = make_authority("another", 1h).value().certificate_pem}});
  EXPECT_THAT(refusal(), HasSubstr("is not trusted"));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(TransportFaults, ARotatedAuthorityIsReadAgainOnceTheOldOneDoesNotDo) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("ca.crt", make_authority("another", 1h).value().certificate_pem);
  serve(reply_with(200, "{}"));
  connect({.authority = {.file = file}});
  EXPECT_THAT(refusal(), HasSubstr("is not trusted"));
  folder.write("ca.crt", server_->authority().certificate_pem);
  EXPECT_TRUE(get());
}

TEST_F(TransportFaults, AKeyThatComesBehindItsCertificateIsReadAtOnce) {
  const KeyPair authority = make_authority("client authority", 1h).value();
  const auto issue = [&] {
    return issue_certificate(authority, {.common_name = "a", .for_server = false, .for_client = true})
        .value();
  };
  const KeyPair before = issue();
  const KeyPair after = issue();
  const test::TemporaryFolder folder;
  const std::string certificate = folder.write("tls.crt", after.certificate_pem);
  const std::string key = folder.write("tls.key", before.key_pem);
  serve(reply_with(200, "{}"), {.client_authority_pem = authority.certificate_pem});
  connect({.certificate = {.file = certificate}, .key = {.file = key}});
  EXPECT_THAT(refusal(), HasSubstr("the client key is not usable"));
  folder.write("tls.key", after.key_pem);
  EXPECT_TRUE(get());
}

// A company's clusters may have an intermediate authority, and give that one alone.
TEST_F(TransportFaults, WhatStandsInTheBundleIsTrustedThoughAnotherHasSignedIt) {
  serve(reply_with(200, "{}"));
  connect({.authority = {.text = server_->certificate_pem()}});
  EXPECT_TRUE(get());
}

TEST_F(TransportFaults, AServerOfAnotherNameIsRefusedUnlessThatNameIsExpected) {
  serve(reply_with(200, "{}"), {.certificate_name = "kubernetes", .certificate_for_loopback = false});
  const auto answer = get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUntrusted);
  EXPECT_THAT(answer.error().message, HasSubstr("is not for 127.0.0.1: set tls-server-name of the cluster"));
  EXPECT_EQ(server_->connections(), 2) << "once more, with what the files say now";
  connect({.tls_server_name = "another"});
  EXPECT_THAT(refusal(), HasSubstr("is not for another: set tls-server-name"));
  connect({.tls_server_name = "kubernetes"});
  EXPECT_TRUE(get());
}

TEST_F(TransportFaults, InsecureMeansThatAnyServerWillDo) {
  serve(reply_with(200, "{}"), {.certificate_name = "kubernetes", .certificate_for_loopback = false});
  connect({.insecure_skip_tls_verify = true});
  EXPECT_TRUE(get());
}

TEST_F(TransportFaults, AHandshakeThatAnyServerMayDoFailsForNoWantOfTrust) {
  serve(reply_with(200, "{}"),
        {.certificate_name = "kubernetes",
         .certificate_for_loopback = false,
         .client_authority_pem = make_authority("client authority", 1h).value().certificate_pem,
         .has_tls_1_3 = false});
  connect({.insecure_skip_tls_verify = true}, {.retry = {.tries = 1}});
  const auto answer = get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnreachable);
  EXPECT_THAT(answer.error().message, HasSubstr("cannot do TLS with"));
}

TEST_F(TransportFaults, AClientCertificateIsShown) {
  const KeyPair authority = make_authority("client authority", 1h).value();
  const KeyPair own =
      issue_certificate(authority, {.common_name = "operator", .for_server = false, .for_client = true})
          .value();
  serve(reply_with(200, "{}"), {.client_authority_pem = authority.certificate_pem});
  connect({}, {.retry = {.tries = 1}});
  EXPECT_FALSE(get());
  connect({.certificate = {.text = own.certificate_pem}, .key = {.text = own.key_pem}});
  EXPECT_TRUE(get());
}

TEST_F(TransportFaults, AnUnusableCertificateIsNamed) {
  serve(reply_with(200, "{}"));
  connect({.certificate = {.text = "garbage"}});
  EXPECT_NE(refusal().find("the client certificate is not usable"), std::string::npos) << refusal();
}

TEST_F(TransportFaults, AServerThatIsAwayIsUnreachable) {
  serve(reply_with(200, "{}"));
  connect({}, {.retry = {.tries = 1}});
  const int port = server_->port();
  server_.reset();
  const auto answer = get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnreachable);
  EXPECT_NE(answer.error().message.find(fmt::format("cannot connect to 127.0.0.1:{}", port)),
            std::string::npos)
      << answer.error().message;
}

TEST_F(TransportFaults, NoMoreCallsThanAllowedRunAtOnce) {
  std::latch release(1);
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  serve([&](Exchange& exchange) {
    most = std::max(most.load(), ++at_once);
    release.wait();
    --at_once;
    exchange.reply(200, "{}");
  });
  connect({}, {}, {.calls_at_once = 2});
  std::vector<std::future<bool>> calls;
  for (int i = 0; i < 6; ++i) {
    calls.push_back(std::async(std::launch::async, [this] { return get().has_value(); }));
  }
  await([&] { return at_once == 2; });
  release.count_down();
  for (auto& call : calls) EXPECT_TRUE(call.get());
  EXPECT_EQ(most, 2);
}

TEST_F(TransportFaults, AStopRequestEndsAConnectionAttempt) {
  serve(reply_with(200, "{}"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client_->get({.stop = stop.get_token()}, pods_, "a").error().kind, ErrorKind::kStopped);
}

}  // namespace
}  // namespace caravan::kube::testing
