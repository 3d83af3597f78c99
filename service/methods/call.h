// One call, as the methods see it, whichever way it came in.
#pragma once

#include <string>

#include "common/call_context.h"
#include "service/access/caller.h"
#include "service/answer/fault.h"

namespace caravan::service {

struct Call {
  CallContext context = {};
  Caller caller = {};     // without a user: nobody that is known
  std::string host = {};  // that it comes from
};

}  // namespace caravan::service
