// What the channels of an agent have in common: to the coordinator, and to whoever reads the job's reports.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>

namespace caravan::agent {

// connect_timeout: for each address that the name has; gRPC gives none less than a second.
inline grpc::ChannelArguments base_channel_arguments(std::chrono::milliseconds connect_timeout) {
  grpc::ChannelArguments arguments;
  // A pool of its own: no memory of earlier failures to connect.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy of the pod's environment is for what is outside of the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(connect_timeout.count()));
  return arguments;
}

}  // namespace caravan::agent
