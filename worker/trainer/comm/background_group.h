// A group whose started collectives go on on a thread of the group's own: for transports that need a
// processor to move what ranks exchange.
//
// The thread takes them in the order in which they were started; all other calls wait until it has nothing
// left to do and are made by the caller's thread, so the group's order is the caller's. What they allocate is
// charged as if the caller allocated it. The thread takes no further ones for its loops: those are the
// caller's, which computes.
#pragma once

#include <memory>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

std::unique_ptr<Communicator> in_background(std::unique_ptr<Communicator> group);

}  // namespace caravan::trainer
