// Addresses as flags and gRPC write them: HOST:PORT, an IPv6 host in brackets.
#pragma once

#include <string>
#include <string_view>

namespace caravan {

// A host that is not empty, and a port from 0 to 65535: no URL, no path.
bool is_host_port(std::string_view address);

// The parts of such an address.
std::string host_of(std::string_view address);
std::string port_of(std::string_view address);

// Without brackets.
bool is_ip_address(const std::string& host);

// Whether only this machine reaches it; in brackets or without.
bool is_loopback(const std::string& host);

}  // namespace caravan
