// Groups whose ranks are threads of one process.
#pragma once

#include <ATen/Parallel.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/listen.h"
#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/comm/shared_memory/shared_memory_communicator.h"

namespace caravan::trainer {

enum class Transport { Gloo, SharedMemory };

inline std::string name_of(Transport transport) {
  return transport == Transport::Gloo ? "Gloo" : "SharedMemory";
}

// Runs `body` as every rank of a world over Gloo, each on its own thread. A process has one flight recorder
// of c10d, which groups of several ranks in it would write to at the same time.
inline void with_gloo_ranks(int ranks, const std::function<void(std::unique_ptr<Communicator>&)>& body) {
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      RendezvousOptions options;
      options.port = listener.port;
      options.listen_fd = rank == 0 ? listener.fd.release() : -1;
      options.network_interface = "lo";
      options.rank = rank;
      options.world_size = ranks;
      options.timeout = std::chrono::seconds(60);
      GlooRendezvous rendezvous(options);
      auto world = rendezvous.form_group("world", rank, ranks);
      body(world);
      world->barrier();
    });
  }
}

inline void with_ranks(Transport transport, int ranks, const std::function<void(Communicator&)>& body) {
  with_gloo_ranks(ranks, [&](std::unique_ptr<Communicator>& world) {
    if (transport == Transport::SharedMemory) world = share_memory(std::move(world), {.name = "world"});
    body(*world);
  });
}

}  // namespace caravan::trainer
