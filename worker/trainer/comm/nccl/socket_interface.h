// The network interface by which NCCL finds the other ranks, and goes where there is nothing faster: the one
// that all else between ranks takes. NCCL alone guesses, and may take a bridge of containers. What is set
// here is one interface, and an nccl.conf does not change it: whoever has several cards names them in the
// variable.
#pragma once

#include <optional>
#include <string>

struct ifaddrs;

namespace caravan::trainer {

// The first of the list that has this name or this address, where its name leads NCCL there: not a loopback
// for an address by which other machines reach this one, and no label of an address. Pure.
std::optional<std::string> interface_of(const std::string& name_or_address, const ifaddrs* interfaces);

// NCCL_SOCKET_IFNAME, in this process's environment: nothing where it is set already, and where there is no
// such interface on this machine. Before anything asks for NCCL.
void choose_interface_for_nccl(const std::string& name_or_address);

}  // namespace caravan::trainer
