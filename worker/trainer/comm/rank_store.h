// The store in which ranks find each other, c10d's over TCP.
//
// Rank 0 serves it, on an inherited listening socket where there is one, so that no port can be taken between
// choosing and binding it. Keys carry the attempt: ranks of an older attempt never meet those of a newer one.
// Both throw CommunicationError when nobody serves it in time or a name cannot be resolved.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include "worker/trainer/comm/rendezvous_options.h"

namespace c10d {
class Store;
}

namespace caravan::trainer {

// On rank 0 blocks until all ranks have come.
c10::intrusive_ptr<c10d::Store> meet_in_store(const RendezvousOptions& options);
// A further connection, when rank 0 serves it: one that waits in it holds up all that use the same.
c10::intrusive_ptr<c10d::Store> connect_to_store(const RendezvousOptions& options);

}  // namespace caravan::trainer
