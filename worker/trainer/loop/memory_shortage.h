// What a rank says that was refused memory: what it had at most, by use, against what the plan says of its
// stage. Pure.
#pragma once

#include <optional>
#include <string>

#include "worker/trainer/memory/memory_breakdown.h"

namespace caravan::trainer {

// planned: absent where nobody can say. refusal: the words of whoever had no more.
std::string describe_shortage(const MemoryBreakdown& peak, const std::optional<MemoryBreakdown>& planned,
                              const std::string& refusal);

}  // namespace caravan::trainer
