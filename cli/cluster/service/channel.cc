#include "cli/cluster/service/channel.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "common/host_port.h"
#include "common/version.h"

namespace caravan::cli {
namespace {

constexpr int kReconnectMs = 2'000;
constexpr int kLongestAnswer = 64 << 20;

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const ServiceAccess& access, const Pings& pings) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(fmt::format("caravan/{}", version()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(pings.period.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(pings.answer.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // any number of them
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs / 10);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // each call decides
  arguments.SetMaxReceiveMessageSize(kLongestAnswer);
  // The proxy of the environment is another machine, to which this one's loopback is another.
  if (is_loopback(host_of(access.address))) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!access.server_name.empty()) arguments.SetSslTargetNameOverride(access.server_name);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = access.root_pem;
  return grpc::CreateCustomChannel(access.address, grpc::SslCredentials(tls), arguments);
}

std::unique_ptr<grpc::ClientContext> begin_call(const std::string& token, Clock& clock,
                                                Clock::TimePoint deadline) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->AddMetadata("authorization", "Bearer " + token);
  if (deadline != Clock::kNever) {
    const auto left = std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - clock.now());
    context->set_deadline(clock.wall_now() + left);
  }
  return context;
}

}  // namespace caravan::cli
