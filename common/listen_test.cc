#include "common/listen.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace caravan {
namespace {

using ::testing::HasSubstr;

TEST(Listen, AHostThatIsNoneIsBadInput) {
  const auto socket = listen_on("no.such.host.invalid", "0");
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ExitCode::kBadInput);
  EXPECT_THAT(socket.error().message, HasSubstr("cannot listen on no.such.host.invalid:0: "));
}

TEST(Listen, AnIpv6HostMayStandInBrackets) {
  const auto socket = listen_on("[::1]", "0");
  if (!socket) GTEST_SKIP() << socket.error().message;
  EXPECT_GT(socket->port, 0);
}

bool reaches_by_ipv4(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(Listen, EveryAddressIsIpv4Too) {
  const auto socket = listen_on("[::]", "0");
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(reaches_by_ipv4(socket->port));
}

// From now on this process is on a machine whose kernel has no IPv6.
bool lose_ipv6() {
  std::array<sock_filter, 6> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{.len = code.size(), .filter = code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 && socket(AF_INET6, SOCK_STREAM, 0) < 0 &&
         errno == EAFNOSUPPORT;
}

[[noreturn]] void listen_without_ipv6() {
  if (!lose_ipv6()) std::fputs("it still has IPv6\n", stderr);
  const auto socket = listen_on("[::]", "0");
  if (socket && reaches_by_ipv4(socket->port)) std::fputs("reached\n", stderr);
  if (!socket) std::fputs(socket.error().message.c_str(), stderr);
  std::_Exit(0);
}

TEST(Listen, EveryAddressIsThoseOfIpv4WhereThereIsNoIpv6) {
  EXPECT_EXIT(listen_without_ipv6(), ::testing::ExitedWithCode(0), "^reached\n$");
}

}  // namespace
}  // namespace caravan
