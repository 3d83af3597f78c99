// A listening TCP socket.
//
// The host `::` means every address of the machine: those of IPv6 and of IPv4, or of IPv4 alone where there
// is no IPv6. An IPv6 host may stand in brackets.
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

Result<ListeningSocket> listen_on(const std::string& host, const std::string& port);

}  // namespace caravan
