// What a rank says that was refused memory: what it had at most, by use, and what was refused with it,
// against what the plan says of its stage. Pure.
#pragma once

#include <optional>
#include <string>

#include "worker/trainer/loop/reporter.h"
#include "worker/trainer/memory/memory_breakdown.h"

namespace caravan::trainer {

// The use that grew furthest past its plan; nothing where none did, or where nobody can say what was planned.
std::optional<ShortageRecord> find_shortage(const MemoryBreakdown& peak,
                                            const std::optional<MemoryBreakdown>& planned);

// planned: absent where nobody can say. refusal: the words of whoever had no more.
std::string describe_shortage(const MemoryBreakdown& peak, const std::optional<MemoryBreakdown>& planned,
                              const std::string& refusal);

}  // namespace caravan::trainer
