// A name that stands for several addresses, as that of an API server with several machines does, not all of
// which are alive; and one that no name server answers for.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <future>
#include <string_view>

#include "common/unique_fd.h"
#include "tests/kube/connect_proxy.h"
#include "tests/kube/scripted_client.h"

namespace {

constexpr const char* kTwoAddresses = "two-addresses.test";
constexpr const char* kFirst = "127.0.0.2";
constexpr const char* kSecond = "127.0.0.1";

constexpr const char* kSilent = "silent.test";
std::atomic<int> look_ups_of_silent{0};
std::atomic<bool> name_server_answers{false};

}  // namespace

// In the place of the C library's, which knows no such name.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  static const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host != nullptr && std::string_view(host) == kSilent) {
    ++look_ups_of_silent;
    name_server_answers.wait(false);
    return EAI_AGAIN;
  }
  if (host == nullptr || std::string_view(host) != kTwoAddresses) return system(host, port, hints, found);
  if (const int error = system(kFirst, port, hints, found); error != 0) return error;
  addrinfo* last = *found;
  while (last->ai_next != nullptr) last = last->ai_next;
  return system(kSecond, port, hints, &last->ai_next);
}

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;

// A port of the first address that answers nobody, as no machine does: its queue is full, and so the kernel
// says nothing to who would connect.
class SilentPort {
 public:
  explicit SilentPort(int port) {
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<std::uint16_t>(port));
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(::bind(listener_.get(), name(), sizeof(address_)), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    for (const UniqueFd& caller : callers_) ::connect(caller.get(), name(), sizeof(address_));
  }

 private:
  static UniqueFd make_socket(int flags) { return UniqueFd(::socket(AF_INET, SOCK_STREAM | flags, 0)); }
  const sockaddr* name() const { return reinterpret_cast<const sockaddr*>(&address_); }

  sockaddr_in address_{};
  UniqueFd listener_ = make_socket(0);
  std::array<UniqueFd, 3> callers_ = {make_socket(SOCK_NONBLOCK), make_socket(SOCK_NONBLOCK),
                                      make_socket(SOCK_NONBLOCK)};
};

class Addresses : public ScriptedClientTest {
 protected:
  void SetUp() override {
    serve(reply_with(200, "{}"));
    connect({.proxy = Endpoint{.host = kTwoAddresses, .port = std::to_string(proxy_.port())}},
            {.retry = {.tries = 1}});
  }

  const ConnectProxy proxy_{"200 OK"};
};

TEST_F(Addresses, OneThatRefusesIsPassedOver) {
  EXPECT_TRUE(client_->get({}, pods_, "a"));
}

TEST_F(Addresses, OneThatSaysNothingIsPassedOver) {
  const SilentPort silent(proxy_.port());
  EXPECT_TRUE(client_->get({}, pods_, "a"));
}

TEST_F(Addresses, WhenNoneIsAliveTheNameIsTold) {
  connect({.proxy = Endpoint{.host = kTwoAddresses, .port = "1"}}, {.retry = {.tries = 1}});
  const auto answer = client_->get({}, pods_, "a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnreachable);
  EXPECT_THAT(answer.error().message,
              ::testing::EndsWith("cannot connect to two-addresses.test:1: Connection refused"));
}

TEST_F(Addresses, AnswersOfANameServerAreWaitedForNoLongerThanACallMayTake) {
  look_ups_of_silent = 0;
  name_server_answers = false;
  const ClientConfig silent{.proxy = Endpoint{.host = kSilent, .port = "1"}};
  connect(silent, {.retry = {.tries = 1}});
  for (int i = 0; i < 2; ++i) {
    auto answer = std::async(std::launch::async, [this] { return client_->get({}, pods_, "a"); });
    await([] { return look_ups_of_silent == 1; });
    clock_.await_sleeper(30s);
    clock_.advance(30s);
    EXPECT_EQ(answer.get().error().kind, ErrorKind::kTimeout);
  }
  connect(silent, {.retry = {.tries = 1}});  // ends the one before
  name_server_answers = true;
  name_server_answers.notify_all();
  EXPECT_THAT(client_->get({}, pods_, "a").error().message,
              ::testing::EndsWith("cannot resolve silent.test:1: Temporary failure in name resolution"));
  EXPECT_EQ(look_ups_of_silent, 2) << "one for each transport, whatever calls are made meanwhile";
}

}  // namespace
}  // namespace caravan::kube::testing
