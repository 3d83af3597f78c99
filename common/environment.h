// Variables of this process's environment.
#pragma once

#include <string>

namespace caravan {

// Empty where it is not set.
std::string environment_variable(const char* name);

// Has gRPC print nothing of its own: failures are told in our words. And has it look after connections that
// no call waits for ten times a second: at its own pace, every 5 s, a client whose calls fail at once begins
// a handshake when the server has given up waiting for it, again and again. What the user has set stays.
// Before the first thread.
void set_up_grpc();

}  // namespace caravan
