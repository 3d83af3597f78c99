#include "worker/trainer/comm/nccl/socket_interface.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdlib>
#include <deque>
#include <string>

namespace caravan::trainer {
namespace {

constexpr const char* kVariable = "NCCL_SOCKET_IFNAME";

// Of a machine: a loopback with an address that is routed to the host, a tunnel without one, and a card with
// one of each kind and one that has a label.
class Interfaces {
 public:
  Interfaces() {
    add("lo", "127.0.0.1", IFF_LOOPBACK);
    add("lo", "10.9.0.3", IFF_LOOPBACK);
    add("tun0", "");
    add("eth1", "10.1.2.3");
    add("eth1:1", "10.1.2.9");
    add("lo", "::1", IFF_LOOPBACK);
    add("eth1", "fd00::3");
  }
  const ifaddrs* first() const { return &entries_.front().listed; }

 private:
  struct Entry {
    std::string name;
    sockaddr_storage address{};
    ifaddrs listed{};
  };

  void add(const char* name, const char* address, unsigned flags = 0) {
    ifaddrs* const before = entries_.empty() ? nullptr : &entries_.back().listed;
    Entry& entry = entries_.emplace_back();
    entry.name = name;
    entry.listed.ifa_name = entry.name.data();
    entry.listed.ifa_flags = flags;
    auto* const four = reinterpret_cast<sockaddr_in*>(&entry.address);
    auto* const six = reinterpret_cast<sockaddr_in6*>(&entry.address);
    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) entry.address.ss_family = AF_INET;
    if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) entry.address.ss_family = AF_INET6;
    const bool has_one = entry.address.ss_family != AF_UNSPEC;
    if (has_one) entry.listed.ifa_addr = reinterpret_cast<sockaddr*>(&entry.address);
    if (before != nullptr) before->ifa_next = &entry.listed;
  }

  std::deque<Entry> entries_;
};

TEST(SocketInterface, IsFoundByItsNameOrAnAddress) {
  const Interfaces machine;
  for (const char* known : {"eth1", "10.1.2.3", "fd00::3", "fd00:0:0::3"})
    EXPECT_EQ(interface_of(known, machine.first()), "eth1") << known;
  for (const char* known : {"lo", "127.0.0.1", "::1"})
    EXPECT_EQ(interface_of(known, machine.first()), "lo") << known;
  EXPECT_EQ(interface_of("tun0", machine.first()), "tun0");
  for (const char* unknown : {"", "eth", "10.1.2.4", "fd00::4", "node-3.example"})
    EXPECT_EQ(interface_of(unknown, machine.first()), std::nullopt) << unknown;
}

TEST(SocketInterface, IsNoneWhereItsNameLeadsNcclElsewhere) {
  const Interfaces machine;
  for (const char* without : {"10.9.0.3", "10.1.2.9", "eth1:1"})
    EXPECT_EQ(interface_of(without, machine.first()), std::nullopt) << without;
}

class NcclsInterface : public testing::Test {
 protected:
  NcclsInterface() { unsetenv(kVariable); }
  ~NcclsInterface() override { unsetenv(kVariable); }
};

TEST_F(NcclsInterface, IsTheOneThatHasTheRanksAddress) {
  choose_interface_for_nccl("127.0.0.1");
  EXPECT_STREQ(std::getenv(kVariable), "=lo");
}

TEST_F(NcclsInterface, IsLeftToItWhereNoneHasTheAddress) {
  choose_interface_for_nccl("192.0.2.1");
  EXPECT_EQ(std::getenv(kVariable), nullptr);
}

TEST_F(NcclsInterface, IsTheUsersWhereHeNamesOne) {
  setenv(kVariable, "ib", /*overwrite=*/1);
  choose_interface_for_nccl("127.0.0.1");
  EXPECT_STREQ(std::getenv(kVariable), "ib");
}

}  // namespace
}  // namespace caravan::trainer
