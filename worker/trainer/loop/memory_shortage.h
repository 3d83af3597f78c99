// What a rank says that was refused memory: what it had at most, by use, and what was refused with it,
// against what the plan says of its stage. Pure.
#pragma once

#include <optional>
#include <string>

#include "planner/memory/memory_terms.h"
#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

// What a rank knows when it was refused memory.
struct RefusedMemory {
  planner::MemoryTerms peak;                    // without overhead, which nobody measures
  std::optional<planner::MemoryTerms> planned;  // absent where nobody can say
  int64_t device_bytes = 0;  // that the device has, for all that use it; 0: its memory is the host's
};

// The use that grew furthest past its plan. Where none grew by more than predictions may be wrong, the
// overhead: tensors did not get what the plan leaves them, so that something else has it. Nothing where that
// did not grow either, or where nobody can say what was planned.
std::optional<ShortageRecord> find_shortage(const RefusedMemory& memory);

// refusal: the words of whoever had no more.
std::string describe_shortage(const RefusedMemory& memory, const std::string& refusal);

}  // namespace caravan::trainer
