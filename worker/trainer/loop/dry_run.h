// What a rank of a job holds when it has started, told by starting it without the others and without memory:
// its mesh, parameters, optimizer, stage, the lists of what its stage does and the copy for checkpoints are
// built as ever, on tensors that have sizes and no data (rank.h), of groups in which nobody else is
// (comm/absent_groups.h). So it takes any rank of a job of any size, on any machine.
#pragma once

#include "common/result.h"
#include "planner/memory/memory_terms.h"
#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

// By the ledger. Opens the data's files and looks for no checkpoint. Fails as a start does; throws
// CommunicationError where a start needs other ranks.
Result<planner::MemoryTerms> dry_run(const TrainerOptions& options);

}  // namespace caravan::trainer
