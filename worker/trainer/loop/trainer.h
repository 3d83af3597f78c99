// Trains: step after step, each an ordered list of named parts, until the last step, a command to stop, or a
// failure.
//
// All ranks run the same steps in lockstep and take every decision (skip a step, stop, fail) from what they
// agreed on, so they end after the same step. Throws CommunicationError when a peer is lost; all else is in
// the outcome.
//
// Where the schedule validates afterwards, a step may begin before the ranks have agreed on the one before,
// on weights that were updated on trial as if nothing were clipped or skipped. What they agree on is settled
// behind the leading forwards of the next step; where it came otherwise, or to an end or a checkpoint, those
// are taken back.
// A failure before that takes the open step with it: whoever resumes makes it again. Nothing else can be told
// from steps that wait: weights, states and losses are the same to the bit.
#pragma once

#include <memory>
#include <optional>

#include "common/clock.h"
#include "planner/work/flops.h"
#include "worker/trainer/loop/agreement.h"
#include "worker/trainer/loop/checkpoint_saver.h"
#include "worker/trainer/loop/command_listener.h"
#include "worker/trainer/loop/failure.h"
#include "worker/trainer/loop/rank.h"
#include "worker/trainer/loop/rank_data.h"
#include "worker/trainer/loop/trace_file.h"
#include "worker/trainer/loop/training_pass.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

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
    at::Tensor loss_sum;  // on the device; undefined but with the head
    std::optional<Agreement> agreement;
    double learning_rate = 0;
    bool tried = false;  // the update, before the agreement
    StepVerdict verdict;
    bool as_tried = false;
    bool skipped = false;
    std::optional<double> validation_loss;
    StepRecord record;
  };

  Outcome resume();
  Outcome rehearse_on_device();
  void report_start() const;
  bool traces() const { return !options_.trace_directory.empty(); }
  bool told_to_stop() const { return stop_after_ <= finished_; }
  Outcome run(int number);
  Outcome run_step(int number);
  Outcome read_tokens(Step& step);
  std::unique_ptr<TrainingPass> begin_pass(const Step& step);
  Outcome settle_open_step(const Step& now, std::unique_ptr<TrainingPass>& pass);
  void compute_gradients(Step& step, std::unique_ptr<TrainingPass> pass);
  void sum_over_ranks();
  Outcome dump_gradients_if_asked(const Step& step);
  void begin_agreement(Step& step);
  bool may_stay_open(const Step& step) const;
  void leave_open(Step step);
  Outcome settle(Step& step);
  Outcome conclude(Step& step);
  void update_weights(Step& step);
  bool evaluation_is_due(int step) const;
  int count_evaluation_batches();
  bool ends_with(const Step& step) const;  // before all steps are done
  Outcome evaluate_if_due(Step& step);
  Outcome keep_checkpoint(const Step& step);
  Outcome keep_last_checkpoint();
  void measure(Step& step);
  void report(Step& step) const;
  Outcome check_finite(const Step& step);
  void write_trace_if_asked() const;
  void report_finish(int step) const;

  double read_number(const at::Tensor& number) const;
  double spoken_loss(const at::Tensor& loss_sum) const;
  StepShare share_of(const Step& step);
  checkpoint::TrainingState state_after(int step, int64_t samples) const;

  Rank& rank_;
  const TrainerOptions& options_;
  const RankData data_;
  const Reporter& reporter_;
  const CommandListener& commands_;
  const WorkPlace place_;
  const planner::FlopsPerToken flops_;
  const planner::StepActions training_actions_;
  const std::vector<planner::Action> evaluation_actions_;
  const std::vector<FlatRange> norm_ranges_;
  std::optional<CheckpointSaver> checkpoints_;  // absent: none are written
  const SystemClock host_clock_{};
  TraceClock trace_clock_{host_clock_};     // of the step that runs
  StepTrace trace_{.clock = trace_clock_};  // of the last step, where traces are written
  int evaluation_batches_ = 0;              // in each
  int finished_ = 0;                        // steps, those of earlier attempts included
  int64_t samples_ = 0;                     // that these steps saw
  std::optional<Step> open_;                // the step before, until it is settled
  int stop_after_ = kNoStop;
  bool took_whole_gradients_ = false;  // in the last update that was settled
  int nonfinite_in_a_row_ = 0;
};

}  // namespace caravan::trainer
