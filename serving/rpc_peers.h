// What a gRPC server takes from whoever reaches its port. Only for .cc files: this header is heavy.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace caravan {

struct PeerBounds {
  std::chrono::milliseconds fastest_pings{10'000};
  std::chrono::milliseconds idle_connection{300'000};  // one without a call
  // Clients of gRPC may come back to one of theirs only every 5 s: with as little they would never get
  // through.
  std::chrono::milliseconds handshake{15'000};
  int streams_of_a_connection = 100;
  int message_bytes = 0;
  std::size_t memory_bytes = 0;  // of all messages and connections together
};

// Also has the kernel give the port to one process alone, a peer that is silent for a minute asked whether it
// lives, and the streams of gRPC's reflection bounded by their threads.
void set_bounds(grpc::ServerBuilder& builder, const PeerBounds& bounds);

// Of `authorization: Bearer TOKEN`; empty: there is none.
std::string bearer_token(const grpc::CallbackServerContext& context);

}  // namespace caravan
