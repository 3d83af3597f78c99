// Ranks meet here and form groups over Gloo (TCP), with c10d's store and process group underneath.
//
// Rank 0 serves the store, on an inherited listening socket where there is one, so that no port can be taken
// between choosing and binding it. Keys carry the attempt: ranks of an older attempt never meet those of a
// newer one. Throws CommunicationError when peers do not come in time or a name cannot be resolved.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

struct RendezvousOptions {
  std::string address = "127.0.0.1";
  int port = 0;
  int listen_fd = -1;  // rank 0 only; -1: it binds `port` itself
  std::string
      network_interface;  // name or address that collectives bind to; empty: where this host's name leads
  int rank = 0;
  int world_size = 1;
  int attempt = 1;
  std::chrono::seconds timeout{600};  // of every operation
};

class GlooRendezvous {
 public:
  explicit GlooRendezvous(const RendezvousOptions& options);
  ~GlooRendezvous();

  // Blocks until all members have come. The rendezvous may go when the groups are formed on every rank.
  std::unique_ptr<Communicator> form_group(const std::string& name, int rank, int size);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace caravan::trainer
