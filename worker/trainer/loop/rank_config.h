// Reads the RankConfig file that an agent (or a person) wrote for one rank.
//
// Absent fields of the spec get the schema's defaults. Errors are bad input and name the file or the field:
// unreadable or malformed JSON, a layout that does not multiply to the world size, layers or heads that do
// not divide, a micro-batch that does not divide the global batch.
#pragma once

#include <optional>
#include <string>

#include "common/result.h"
#include "planner/memory/memory_terms.h"
#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

Result<TrainerOptions> load_rank_config(const std::string& path);
Result<TrainerOptions> parse_rank_config(const std::string& json);

// What this rank holds at its peak, by the planner; absent where that cannot be told.
std::optional<planner::MemoryTerms> load_planned_memory(const std::string& path);

}  // namespace caravan::trainer
