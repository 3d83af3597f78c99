// Groups of a rank that is alone although its job has more: each has its rank and its size, and nobody else
// is there. For a dry run, which builds what a rank has and asks nobody anything.
#pragma once

#include "worker/trainer/comm/mesh.h"

namespace caravan::trainer {

// Of which every operation throws CommunicationError.
GroupFactory absent_groups();

}  // namespace caravan::trainer
