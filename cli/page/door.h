// Who is let in at a run's page: whoever shows the token of the address that the run printed, and no page of
// another origin. Pure.
//
// The port can be reached by all users of the machine, and by every page in the user's browser, also under a
// name of the page's own that leads here (DNS rebinding). So the Host of a request must be an address, or a
// name that only this machine has; a page's Origin must be this one; and what the run does, beyond the job's
// name, is told for the token alone, which no browser sends by itself.
#pragma once

#include <string>
#include <vector>

#include "http/message.h"
#include "service/answer/fault.h"

namespace caravan::cli {

struct Door {
  std::string token = {};
  std::vector<std::string> names = {};  // besides localhost, in lower case
};

// For every request.
service::Answer<void> check_origin(const Door& door, const http::Request& request);
// For what the run does.
service::Answer<void> check_token(const Door& door, const http::Request& request);

}  // namespace caravan::cli
