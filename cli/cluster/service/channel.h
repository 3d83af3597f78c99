// A connection to the job service.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>

#include "cli/cluster/service/access.h"
#include "common/clock.h"

namespace caravan::cli {

// Over TLS, by the root alone; a service that is lost is noticed by pings. Connects with the first call.
std::shared_ptr<grpc::Channel> open_channel(const ServiceAccess& access);

// A call with the user's token until the deadline. Errors are those of the token.
Result<std::unique_ptr<grpc::ClientContext>> begin_call(const ServiceAccess& access, Clock& clock,
                                                        Clock::TimePoint deadline);

}  // namespace caravan::cli
