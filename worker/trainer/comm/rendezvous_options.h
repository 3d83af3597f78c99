// Where and as whom a rank meets the others.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "worker/trainer/comm/nccl/ways.h"

namespace caravan::trainer {

struct RendezvousOptions {
  std::string address = "127.0.0.1";
  int port = 0;
  int listen_fd = -1;  // rank 0 only; -1: it binds `port` itself
  std::string
      network_interface;  // name or address that collectives bind to; empty: where this host's name leads
  int rank = 0;
  int world_size = 1;
  int node = 0;  // first rank on the same machine
  int attempt = 1;
  std::chrono::seconds timeout{600};    // of every operation
  std::vector<NeighbourWay> ways = {};  // that devices form along the pipeline, in order (nccl/used_ways.h)
};

}  // namespace caravan::trainer
