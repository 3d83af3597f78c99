// The groups of a rank whose tensors are on a GPU: NCCL through c10d for what is on the device, other groups
// for what is on the host.
//
// Each axis has communicators of its own, and that of the pipeline one for each way to a neighbour (ways.h);
// all of them are made when their group is formed, in an order in which no rank waits for another that waits
// for it.
// c10d brings streams and events, and keeps tensors until they are waited for. Its own watchdog is told to do
// nothing: ours (watchdog.h) knows who is missing and ends a wait within seconds.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/rendezvous_options.h"

namespace caravan::trainer {

// How NCCL and c10d are to work, in this process's environment, but for what is set there already. Before
// anything asks for a GPU.
void prepare_environment_for_nccl();

struct NcclOptions {
  RendezvousOptions rendezvous;
  c10::Device device = c10::Device(c10::kCUDA, 0);
  GroupFactory hosts;  // network_groups.h, whose store this meets at
  // Called from a thread of its own when the groups are lost and the thread that trains, which is to throw
  // CommunicationError with the same words, has not ended the process within some seconds: it may be stuck
  // where nothing can wake it.
  std::function<void(const std::string& why)> give_up = {};
  bool overlaps = true;  // overlap_wish.h
};

// Meets the others when the first group is asked for, over the rendezvous' network interface
// (socket_interface.h). Groups go before the factory.
GroupFactory nccl_groups(const NcclOptions& options);

}  // namespace caravan::trainer
