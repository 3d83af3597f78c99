// A connection to the job service.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "cli/cluster/service/access.h"
#include "common/clock.h"

namespace caravan::cli {

// Over TLS, by the root alone; a service that is lost is noticed by pings. Connects with the first call,
// through the proxy of the environment (https_proxy) unless the address is of this machine.
std::shared_ptr<grpc::Channel> open_channel(const ServiceAccess& access);

// A call with that token until the deadline.
std::unique_ptr<grpc::ClientContext> begin_call(const std::string& token, Clock& clock,
                                                Clock::TimePoint deadline);

}  // namespace caravan::cli
