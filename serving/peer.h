// What callers show of themselves, over gRPC and over HTTP, in one form.
#pragma once

#include <string>
#include <string_view>

namespace caravan {

// Of "Bearer TOKEN", as `authorization` has it; empty: there is none, or not one alone.
std::string bearer_in(std::string_view authorization);

// The address in what gRPC calls a peer: "ipv4:10.0.0.7:4711", or "ipv6:%5B2001:db8::7%5D:4711".
std::string host_of_peer(std::string_view peer);

}  // namespace caravan
