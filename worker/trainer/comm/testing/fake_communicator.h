// A group of ranks inside one process, for tests: every rank is a thread, tensors are exchanged through
// memory.
//
// Same results, bit for bit, on all ranks and in all runs, and same as over Gloo: sums are made in the same
// order. A send ends when its receive was posted, nothing is buffered. Ranks that disagree about an
// operation's shape or type throw CommunicationError on all ranks; a rank that never comes makes the others
// wait for ever.
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// One communicator per rank. They share state and may be destroyed in any order, from any thread.
std::vector<std::unique_ptr<Communicator>> make_fake_group(int size);

}  // namespace caravan::trainer
