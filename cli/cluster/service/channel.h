// A connection to the job service.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "cli/cluster/service/access.h"
#include "common/clock.h"

namespace caravan::cli {

// By which a service that is lost is noticed, however long its streams are silent.
struct Pings {
  std::chrono::milliseconds period{60'000};
  std::chrono::milliseconds answer{20'000};  // at the latest
};

// Over TLS, by the root alone. Connects with the first call, through the proxy of the environment
// (https_proxy) unless the address is of this machine.
std::shared_ptr<grpc::Channel> open_channel(const ServiceAccess& access, const Pings& pings = {});

// A call with that token until the deadline.
std::unique_ptr<grpc::ClientContext> begin_call(const std::string& token, Clock& clock,
                                                Clock::TimePoint deadline);

}  // namespace caravan::cli
