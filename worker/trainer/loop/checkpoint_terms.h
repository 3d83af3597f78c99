// What a rank's options and state say of its job's checkpoints, to whoever reads and whoever writes them.
#pragma once

#include <string>

#include "checkpoint/format/file_plan.h"
#include "checkpoint/format/training_state.h"
#include "worker/trainer/checkpoint/rank_state.h"
#include "worker/trainer/loop/rank.h"

namespace caravan::trainer {

checkpoint::TrainingTerms terms_of(const TrainerOptions& options);
checkpoint::FilePlan file_plan_of(const Rank& rank);
RankState state_of(Rank& rank);

// What should be known of a job that goes on behind that step of another number of steps: its warm-up was to
// be of another length. Empty: it was not, or it is over, or the job says how long it is.
std::string warmup_change(const checkpoint::TrainingTerms& before, int step, const TrainerOptions& job);

// The one that speaks for all.
bool is_first(const Rank& rank);

// To the rank's log, which its agent passes on. Names of files may stand in it that anybody has given.
void tell(const std::string& message);

}  // namespace caravan::trainer
