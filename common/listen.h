// A listening TCP socket.
//
// Errors: a name that does not resolve, an address in use or not of this machine; exit code 2.
#pragma once

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan {

struct ListeningSocket {
  UniqueFd fd;
  int port = 0;  // the one that was chosen for port 0
};

// An IPv6 host may stand in brackets.
Result<ListeningSocket> listen_on(const std::string& host, const std::string& port);

}  // namespace caravan
