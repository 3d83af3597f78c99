// Collectives of ranks of one machine through memory that they share; sends and receives, which go on while a
// rank computes, stay with the group over the network.
//
// Each group has 512 KiB for every rank, of which what is used takes memory; tensors of any size go through
// it in pieces. The order of additions is that of direct_exchange.h, so results have the same bits.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

struct SharedMemoryOptions {
  std::string name;  // of the group, for errors
  int node = 0;      // the same on ranks of one machine, and on no others
  std::chrono::milliseconds timeout{600'000};
};

// The same group with collectives through shared memory, where all of its ranks are on one machine and may
// open each other's memory; else the group as it is. All members call it. Throws CommunicationError.
std::unique_ptr<Communicator> share_memory(std::unique_ptr<Communicator> group,
                                           const SharedMemoryOptions& options);

}  // namespace caravan::trainer
