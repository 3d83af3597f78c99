// A group of ranks whose tensors are on devices: what is on the host goes over the group that it is made of,
// what is on the device over streams (stream_group.h), noted for the watchdog.
//
// Calls return when their work is given to the device. What the caller's stream does afterwards comes after a
// collective, and after a transfer from its wait() on. What communicator.h promises of sums holds: bf16 goes
// over the wire as it is, each rank adds up one part of the tensor in fp32 and rounds once. For that an
// operation takes as much memory as one piece of the tensor has, of at most kPieceElements.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/comm/nccl/stream_group.h"
#include "worker/trainer/comm/nccl/watchdog.h"

namespace caravan::trainer {

// 8 MiB of bf16, so that a link is busy for longer than it takes to begin.
inline constexpr int64_t kPieceElements = int64_t{4} << 20;

struct StreamCommunicatorParts {
  std::string name;                     // of the group, in the job
  std::unique_ptr<Communicator> host;   // of the same ranks
  std::shared_ptr<StreamGroup> device;  // likewise
  std::vector<NeighbourWay> ways = {};  // that were formed
  std::function<bool(const at::Tensor&)> is_on_device;
  bool overlaps = true;  // whether what is started is awaited by the caller alone
};

// The watchdog outlives it.
std::unique_ptr<Communicator> stream_communicator(StreamCommunicatorParts parts, Watchdog& watchdog);

}  // namespace caravan::trainer
