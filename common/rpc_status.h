// How a gRPC call ended, in words: the name of its status code, which people look up, before what the peer
// said.
#pragma once

#include <string>
#include <string_view>

namespace caravan {

// "UNAVAILABLE" for grpc::StatusCode::UNAVAILABLE, as gRPC's documentation and metrics name it.
std::string_view rpc_code_name(int code);

// Of a grpc::Status: "UNAVAILABLE: failed to connect to all addresses".
template <typename RpcStatus>
std::string rpc_status_text(const RpcStatus& status) {
  std::string text(rpc_code_name(static_cast<int>(status.error_code())));
  const std::string message = status.error_message();
  return message.empty() ? text : text + ": " + message;
}

}  // namespace caravan
