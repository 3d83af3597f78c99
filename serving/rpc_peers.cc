#include "serving/rpc_peers.h"

#include <grpcpp/resource_quota.h>

#include "serving/peer.h"

namespace caravan {
namespace {

constexpr int kSilentPeer = 60'000;        // milliseconds
constexpr int kMetadataBytes = 32 * 1024;  // tokens have 1 to 2 kB, with many groups more
// Of gRPC's reflection, whose streams have a thread each, and of the answer to methods that there are not;
// what finds no thread is refused.
constexpr int kReflectionThreads = 32;

}  // namespace

void set_bounds(grpc::ServerBuilder& builder, const PeerBounds& bounds) {
  const auto set = [&builder](const char* argument, std::chrono::milliseconds time) {
    builder.AddChannelArgument(argument, static_cast<int>(time.count()));
  };
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, bounds.fastest_pings);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kSilentPeer);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kSilentPeer);
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, bounds.idle_connection);
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, bounds.handshake);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, bounds.streams_of_a_connection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytes);
  builder.SetMaxReceiveMessageSize(bounds.message_bytes);
  builder.SetResourceQuota(
      grpc::ResourceQuota("peers").Resize(bounds.memory_bytes).SetMaxThreads(kReflectionThreads));
  // With a queue for each processor, gRPC aborts where there are more of them than threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
}

std::string bearer_token(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return "";
  return bearer_in({found->second.data(), found->second.size()});
}

}  // namespace caravan
