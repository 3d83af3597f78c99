// The groups of a rank whose peers are other processes: over Gloo, and through shared memory where all ranks
// of one are on one node.
#pragma once

#include "common/result.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/rendezvous_options.h"

namespace caravan::trainer {

// Meets the others when the first group is asked for. Groups go before the factory.
// CARAVAN_COMM=gloo, the same for all ranks, has everything go over the network, to compare with; an empty
// value is none, and another one bad input. CARAVAN_OVERLAP: overlap_wish.h.
Result<GroupFactory> network_groups(const RendezvousOptions& options);

// CARAVAN_COMM=fake asks for a dry run of one rank (loop/dry_run.h).
bool wants_dry_run();

}  // namespace caravan::trainer
