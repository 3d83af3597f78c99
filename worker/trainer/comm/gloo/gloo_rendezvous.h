// Ranks meet here (rank_store.h) and form groups over Gloo (TCP), with c10d's process group underneath.
// Throws CommunicationError when peers do not come in time or a name cannot be resolved.
#pragma once

#include <memory>
#include <string>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/comm/rendezvous_options.h"

namespace caravan::trainer {

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
