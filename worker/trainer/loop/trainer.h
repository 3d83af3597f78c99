// Trains: step after step, each an ordered list of named parts, until the last step, a command to stop, or a
// failure.
//
// All ranks run the same steps in lockstep and take every decision (skip a step, stop, fail) from what they
// agreed on, so they end after the same step. Throws CommunicationError when a peer is lost; all else is in
// the outcome.
#pragma once

#include <optional>

#include "planner/schedule/transfers.h"
#include "planner/work/flops.h"
#include "worker/trainer/loop/agreement.h"
#include "worker/trainer/loop/checkpoint_saver.h"
#include "worker/trainer/loop/command_listener.h"
#include "worker/trainer/loop/failure.h"
#include "worker/trainer/loop/rank.h"
#include "worker/trainer/loop/training_work.h"
#include "worker/trainer/optim/ownership.h"
#include "worker/trainer/pipeline/op_trace.h"

namespace caravan::trainer {

// The files of one rank; validation where the job asks for it.
struct RankData {
  BatchReader training;
  std::optional<BatchReader> validation;
};
Result<RankData> open_data(const TrainerOptions& options);

class Trainer {
 public:
  Trainer(Rank& rank, RankData data, const Reporter& reporter, const CommandListener& commands);

  // From the newest checkpoint, if there is one.
  Outcome train();

 private:
  // What the parts of a step hand on.
  struct Step {
    int number = 0;  // from 1
    PhaseClock::Clock::time_point begin;
    StepTokens tokens;
    double loss_sum = 0;
    StepVerdict verdict;
    double learning_rate = 0;
    bool skipped = false;
    std::optional<double> validation_loss;
  };

  Outcome resume();
  void report_start() const;
  Outcome run(Step& step);
  Outcome read_tokens(Step& step);
  void compute_gradients(Step& step);
  void forget_gradients();
  void sum_over_ranks(Step& step);
  Outcome dump_gradients_if_asked(const Step& step);
  void agree_on(Step& step);
  void update_weights(Step& step);
  Outcome evaluate_if_due(Step& step);
  Outcome keep_checkpoint(const Step& step);
  Outcome keep_last_checkpoint();
  void report(const Step& step);
  Outcome check_finite(const Step& step);
  void write_trace_if_asked(int step) const;
  void report_finish(int step) const;

  StepShare share_of(const Step& step);
  checkpoint::TrainingState state_after(int step, int64_t samples) const;

  Rank& rank_;
  const TrainerOptions& options_;
  const RankData data_;
  const Reporter& reporter_;
  const CommandListener& commands_;
  const WorkPlace place_;
  const planner::FlopsPerToken flops_;
  const std::vector<planner::Action> training_actions_;
  const std::vector<planner::Action> evaluation_actions_;
  const std::vector<FlatRange> norm_ranges_;
  const SystemClock trace_clock_{};
  std::optional<CheckpointSaver> checkpoints_;  // absent: none are written
  OpTrace trace_;                               // of the last step
  int finished_ = 0;                            // steps, those of earlier attempts included
  int64_t samples_ = 0;                         // that these steps saw
  int nonfinite_in_a_row_ = 0;
};

}  // namespace caravan::trainer
