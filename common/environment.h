// Variables of this process's environment.
#pragma once

#include <string>

namespace caravan {

// Empty where it is not set.
std::string environment_variable(const char* name);

// Has gRPC print nothing of its own, unless the user asked for it: failures are told in our words. Before the
// first thread.
void silence_grpc();

}  // namespace caravan
