// Streams of a GPU with NCCL, over c10d's process groups. Only nccl_streams.cc and nccl_groups.cc see c10d.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/comm/nccl/stream_group.h"

namespace c10d {
class Store;
}

namespace caravan::trainer {

struct NcclStreamsOptions {
  std::string name;  // of the group, in the job and its attempt
  int rank = 0;
  int size = 1;
  c10::Device device = c10::Device(c10::kCUDA, 0);
  std::chrono::milliseconds timeout{600'000};  // for the others to come when the group is formed
  std::vector<NeighbourWay> ways = {};         // in the order of the first contacts; none: for collectives
};

// Makes the communicators with the others. Blocks until they have come.
std::shared_ptr<StreamGroup> nccl_streams(const NcclStreamsOptions& options,
                                          const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace caravan::trainer
