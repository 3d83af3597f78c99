#include "worker/trainer/loop/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/loop/checkpoint_terms.h"
#include "worker/trainer/loop/gradient_dump.h"
#include "worker/trainer/loop/interlude.h"
#include "worker/trainer/loop/rehearsal.h"
#include "worker/trainer/loop/saved_table.h"
#include "worker/trainer/loop/seconds_since.h"
#include "worker/trainer/optim/gradient_norm.h"

namespace caravan::trainer {
namespace {

std::vector<planner::Action> actions_of(const planner::Schedule& schedule, const Rank& rank) {
  return planner::add_transfers(schedule, rank.mesh.position.pipeline,
                                planner::messages_under_way(rank.options.layout.schedule));
}

planner::StepActions training_actions_of(const Rank& rank) {
  const TrainerOptions& options = rank.options;
  if (!options.layout.validates_afterwards()) return {.rest = actions_of(options.schedule, rank)};
  return planner::split_step(options.schedule, rank.mesh.position.pipeline,
                             planner::messages_under_way(options.layout.schedule));
}

double tokens_per_batch(const TrainerOptions& options) {
  return static_cast<double>(options.data.global_batch_sequences * options.data.sequence_length);
}

planner::FlopsPerToken flops_of(const TrainerOptions& options) {
  const planner::StageShape model{.model = options.model,
                                  .layers = options.model.layers,
                                  .recomputed_layers = options.layout.recomputed(),
                                  .recomputed_part = options.layout.recomputed_part,
                                  .sequence_length = options.data.sequence_length};
  return planner::flops_per_token(options.model, options.data.sequence_length,
                                  planner::recomputed_flops_per_token(model));
}

int64_t real_elements(const ParameterLayout& layout) {
  int64_t elements = 0;
  for (const Parameter& parameter : layout.parameters) elements += parameter.elements;
  return elements;
}

// Gradients longer than the limit are scaled down to it.
double clip_factor(double norm, double limit) {
  return limit > 0 && norm > limit ? limit / norm : 1;
}

// Without the sign of a NaN, which says nothing.
double shown(double number) {
  return std::isnan(number) ? std::abs(number) : number;
}

}  // namespace

Trainer::Trainer(Rank& rank, RankData data, const Reporter& reporter, const CommandListener& commands)
    : rank_(rank),
      options_(rank.options),
      data_(std::move(data)),
      reporter_(reporter),
      commands_(commands),
      place_{.stage = *rank.stage,
             .storage = rank.parameters.values.options(),
             .clock = rank.clock,
             .segments = rank.options.layout.segments},
      flops_(flops_of(rank.options)),
      training_actions_(training_actions_of(rank)),
      evaluation_actions_(actions_of(planner::forwards_of(rank.options.schedule), rank)),
      norm_ranges_(ranges_in_norm(rank.parameters.layout,
                                  {.rank = rank.mesh.position.data, .size = rank.mesh.shape.data},
                                  rank.placement)) {}

Outcome Trainer::train() {
  if (Outcome same = compare_data(*rank_.mesh.world, data_, options_.data); !same) return same;
  if (Outcome resumed = resume(); !resumed) return resumed;
  if (Outcome rehearsed = rehearse_on_device(); !rehearsed) return rehearsed;
  evaluation_batches_ = count_evaluation_batches();
  report_start();
  rank_.clock.begin_steps();
  rank_.meter.take();  // of the start and the restore
  for (int number = finished_ + 1; number <= options_.steps && !told_to_stop(); ++number) {
    if (Outcome ran = run(number); !ran) return ran;
  }
  rank_.optimizer->await_values();
  if (Outcome kept = keep_last_checkpoint(); !kept) return kept;
  rank_.mesh.world->barrier();
  rank_.mesh.world->finalize();
  report_finish(finished_);
  write_trace_if_asked();
  return {};
}

Outcome Trainer::resume() {
  Resumed from = CheckpointLoader(rank_, reporter_).resume(/*may_begin=*/data_.held_out);
  if (!from) return tl::unexpected(from.error());
  finished_ = from->state.step;
  if (!data_.held_out && is_first(rank_)) tell(data_.held_out.error().message);
  samples_ = from->state.samples;
  if (from->volume) checkpoints_.emplace(rank_, reporter_, *std::move(from));
  return {};
}

// A host has no kernels to load, and a stage that is alone no neighbours.
Outcome Trainer::rehearse_on_device() {
  const bool loads_beside_messages = rank_.marks != nullptr && rank_.mesh.shape.pipeline > 1;
  if (!loads_beside_messages || finished_ >= options_.steps) return {};
  Result<StepTokens> tokens = data_.training.read(samples_);
  if (!tokens) return input_failure(tokens.error());
  rehearse(rank_, place_, *tokens);
  return {};
}

// A step that is not computed, as all were told to stop, leaves the trace of the one before.
Outcome Trainer::run(int number) {
  if (!traces()) return run_step(number);
  trace_clock_ = TraceClock(host_clock_, rank_.marks);
  SpanTrace spans;
  Outcome ran;
  {
    const SpanRecording recording(spans, trace_clock_);
    const TraceSpan whole(SpanKind::Step, "step");
    ran = run_step(number);
  }
  if (trace_.step == number) trace_.spans = std::move(spans);
  return ran;
}

Outcome Trainer::run_step(int number) {
  Step step;
  step.number = number;
  step.begin = PhaseClock::Clock::now();
  step.learning_rate = learning_rate_at(options_.optimizer.learning_rate, number);
  rank_.clock.take();
  if (Outcome read = read_tokens(step); !read) return read;
  auto pass = begin_pass(step);
  if (Outcome settled = settle_open_step(step, pass); !settled) return settled;
  if (told_to_stop()) return {};
  compute_gradients(step, std::move(pass));
  sum_over_ranks();
  if (Outcome dumped = dump_gradients_if_asked(step); !dumped) return dumped;
  begin_agreement(step);
  if (!may_stay_open(step)) return settle(step);
  leave_open(std::move(step));
  return {};
}

Outcome Trainer::read_tokens(Step& step) {
  const PhaseClock::Scope scope(rank_.clock, Phase::kData);
  const int64_t steps_before = step.number - finished_ - 1;
  Result<StepTokens> tokens =
      data_.training.read(samples_ + steps_before * options_.data.global_batch_sequences);
  if (!tokens) return input_failure(tokens.error());
  step.tokens = *std::move(tokens);
  return {};
}

std::unique_ptr<TrainingPass> Trainer::begin_pass(const Step& step) {
  auto pass = std::make_unique<TrainingPass>(place_, step.tokens, training_actions_, *rank_.mesh.pipeline,
                                             traces(), trace_clock_);
  pass->lead();
  return pass;
}

// now: the step that has begun, with that pass. Behind a checkpoint, whose kernels may have the device come
// to rest, it begins anew, so that none of its messages is under way meanwhile (rehearsal.h).
Outcome Trainer::settle_open_step(const Step& now, std::unique_ptr<TrainingPass>& pass) {
  if (!open_) return {};
  Step before = *std::exchange(open_, std::nullopt);
  update_weights(before);
  const bool saves = checkpoints_ && before.verdict.save.asked;
  const bool stops = before.verdict.stop_after_step <= before.number;
  if (!before.as_tried || saves || stops) {
    pass->recall();
    pass.reset();
  }
  if (Outcome concluded = conclude(before); !concluded) return concluded;
  if (!pass && !stops) pass = begin_pass(now);
  return {};
}

void Trainer::compute_gradients(Step& step, std::unique_ptr<TrainingPass> pass) {
  pass->complete();
  step.loss_sum = pass->loss_sum();
  if (traces()) trace_ = {.step = step.number, .ops = pass->take_trace(), .spans = {}, .clock = trace_clock_};
  pass.reset();
  step.tokens = {};
}

void Trainer::sum_over_ranks() {
  const PhaseClock::Scope scope(rank_.clock, Phase::kCommunication);
  rank_.gradient_sums->finish();
}

Outcome Trainer::dump_gradients_if_asked(const Step& step) {
  if (step.number != options_.steps || options_.gradient_dump_directory.empty()) return {};
  const DataShard slice{.rank = rank_.mesh.position.data, .size = rank_.mesh.shape.data};
  const Status dumped =
      dump_gradients(rank_.parameters, rank_.placement, slice, options_.gradient_dump_directory);
  if (!dumped) return tl::unexpected(TrainingFailure{FailureReason::Internal, dumped.error().message});
  return {};
}

// A device comes to its end of a step when all others have given it what it waits for, and only here does the
// host notice.
double Trainer::read_number(const at::Tensor& number) const {
  std::optional<PhaseClock::Scope> wait;
  if (rank_.marks != nullptr && rank_.mesh.world->size() > 1)
    wait.emplace(rank_.clock, Wait{.operation = "synchronize", .axis = "device"});
  return kernels::read_number(number);
}

// Of the ranks of a tensor group, which have the same, the first one speaks.
double Trainer::spoken_loss(const at::Tensor& loss_sum) const {
  return loss_sum.defined() && rank_.mesh.position.tensor == 0 ? read_number(loss_sum) : 0;
}

// What the device has come to is read here, once a step.
StepShare Trainer::share_of(const Step& step) {
  const std::optional<int> stop = commands_.stop_after_step();
  const at::Tensor squares = sum_of_squares(rank_.parameters.gradients, norm_ranges_);
  const double squared_norm = read_number(squares);
  rank_.clock.caught_up();
  return {.loss_sum = spoken_loss(step.loss_sum),
          .squared_gradient_norm = squared_norm,
          .stop_after_step = stop.value_or(kNoStop),
          .save = checkpoints_ ? checkpoints_->share(step.number, commands_.take_save()) : SaveShare{}};
}

void Trainer::begin_agreement(Step& step) {
  const PhaseClock::Scope scope(rank_.clock, Phase::kOptimizer);
  step.agreement.emplace(rank_.mesh, share_of(step));
}

// A step whose gradients were clipped is seldom the only one.
bool Trainer::may_stay_open(const Step& step) const {
  return options_.layout.validates_afterwards() && took_whole_gradients_ && step.number < options_.steps &&
         !evaluation_is_due(step.number);
}

void Trainer::leave_open(Step step) {
  {
    const PhaseClock::Scope scope(rank_.clock, Phase::kOptimizer);
    rank_.optimizer->try_update(step.learning_rate);
  }
  step.tried = true;
  measure(step);
  open_ = std::move(step);
}

Outcome Trainer::settle(Step& step) {
  update_weights(step);
  return conclude(step);
}

// Behind the update.
Outcome Trainer::conclude(Step& step) {
  if (Outcome evaluated = evaluate_if_due(step); !evaluated) return evaluated;
  if (Outcome kept = keep_checkpoint(step); !kept) return kept;
  if (!step.tried) measure(step);
  report(step);
  finished_ = step.number;
  samples_ += options_.data.global_batch_sequences;
  stop_after_ = step.verdict.stop_after_step;
  return check_finite(step);
}

void Trainer::update_weights(Step& step) {
  const PhaseClock::Scope scope(rank_.clock, Phase::kOptimizer);
  step.verdict = step.agreement->wait();
  step.skipped = !step.verdict.finite();
  nonfinite_in_a_row_ = step.skipped ? nonfinite_in_a_row_ + 1 : 0;
  const double scale = clip_factor(step.verdict.gradient_norm, options_.optimizer.clip_norm);
  took_whole_gradients_ = !step.skipped && scale == 1;
  step.as_tried = step.tried && took_whole_gradients_;
  if (step.as_tried) return rank_.optimizer->confirm(step.learning_rate);
  if (step.tried) rank_.optimizer->take_back();
  if (step.skipped) {
    rank_.parameters.gradients.zero_();  // as an update does
  } else {
    rank_.optimizer->update(step.learning_rate, scale);
  }
}

bool Trainer::evaluation_is_due(int step) const {
  const int every = options_.evaluation.every_steps;
  return every > 0 && step % every == 0;
}

// No more than the set has, so that no sequence counts twice, unless it has fewer than one batch. Not every
// stage reads it.
int Trainer::count_evaluation_batches() {
  if (!data_.validation) return 0;
  const int wanted = options_.evaluation.batches;
  const int64_t per_batch = options_.data.global_batch_sequences;
  const int64_t there = data_.validation->samples() / per_batch;
  const int own = static_cast<int>(std::clamp<int64_t>(there, 1, wanted));
  const int batches = largest(*rank_.mesh.world, own);
  if (there == 0 && is_first(rank_)) {
    tell(
        fmt::format("the validation set has {} sequences, fewer than the {} of a batch: some count more than "
                    "once",
                    data_.validation->samples(), per_batch));
  } else if (batches < wanted && is_first(rank_)) {
    tell(
        fmt::format("an evaluation takes {} and not the {} of spec.training.evaluation.batches: the "
                    "validation set has {} sequences, and a batch takes {}",
                    batches, wanted, data_.validation->samples(), per_batch));
  }
  return batches;
}

bool Trainer::ends_with(const Step& step) const {
  return step.verdict.stop_after_step <= step.number && step.number < options_.steps;
}

// Whoever has the job stop may wait for a checkpoint, but for no evaluation: one that has begun is given up
// behind the batch at work, and tells no loss.
Outcome Trainer::evaluate_if_due(Step& step) {
  if (!evaluation_is_due(step.number) || ends_with(step)) return {};
  const PhaseClock::Scope scope(rank_.clock, Phase::kEvaluation);
  Interlude interlude(is_first(rank_) ? &reporter_ : nullptr);
  interlude.begin(step.number);
  double loss_sum = 0;
  for (int batch = 0; batch < evaluation_batches_; ++batch) {
    Result<StepTokens> tokens = data_.validation->read(batch * options_.data.global_batch_sequences);
    if (!tokens) return input_failure(tokens.error());
    EvaluationWork work(place_, *tokens);
    execute(evaluation_actions_, work, *rank_.mesh.pipeline);
    const StepShare share{.loss_sum = spoken_loss(work.loss_sum()),
                          .stop_after_step = commands_.stop_after_step().value_or(kNoStop)};
    const StepVerdict verdict = Agreement(rank_.mesh, share).wait();
    rank_.clock.caught_up();  // the last stage has read what all others made before
    interlude.go_on(batch + 1, /*has_end=*/false);
    loss_sum += verdict.loss_sum;
    step.verdict.stop_after_step = std::min(step.verdict.stop_after_step, verdict.stop_after_step);
    if (ends_with(step)) return {};
  }
  step.validation_loss = loss_sum / (tokens_per_batch(options_) * evaluation_batches_);
  return {};
}

checkpoint::TrainingState Trainer::state_after(int step, int64_t samples) const {
  return {.step = step, .updates = rank_.optimizer->updates(), .samples = samples};
}

Outcome Trainer::keep_checkpoint(const Step& step) {
  if (!checkpoints_) return {};
  const PhaseClock::Scope scope(rank_.clock, Phase::kCheckpoint);
  const int64_t samples = samples_ + options_.data.global_batch_sequences;
  return checkpoints_->after_step(state_after(step.number, samples), step.verdict.save, step.skipped);
}

Outcome Trainer::keep_last_checkpoint() {
  if (!checkpoints_) return {};
  const bool all_steps_done = finished_ == options_.steps;
  const bool skipped = nonfinite_in_a_row_ > 0;
  return checkpoints_->finish(state_after(finished_, samples_), /*must=*/all_steps_done, skipped);
}

Outcome Trainer::check_finite(const Step& step) {
  if (nonfinite_in_a_row_ < options_.optimizer.max_nonfinite_steps) return {};
  return tl::unexpected(TrainingFailure{
      FailureReason::NonFiniteLoss,
      fmt::format("loss or gradient was not finite in {} steps in a row, the last was step {} (loss {}, "
                  "gradient norm {}): lower training.optimizer.learningRate or look at the data",
                  nonfinite_in_a_row_, step.number, shown(step.verdict.loss_sum / tokens_per_batch(options_)),
                  shown(step.verdict.gradient_norm))});
}

void Trainer::report_start() const {
  reporter_.started({.rank = options_.rendezvous.rank,
                     .local_parameters = real_elements(rank_.parameters.layout),
                     .saved = saved_table(options_, rank_.placement),
                     .allocated_bytes = rank_.ledger.live().total()});
}

// What the step took, from its begin until now. Of one that is left open, what settling it takes is the next
// one's.
void Trainer::measure(Step& step) {
  StepRecord& record = step.record;
  record.seconds = seconds_since(step.begin);
  record.phase_seconds = rank_.clock.take();
  for (const auto& [key, count] : rank_.meter.take())
    record.collectives.push_back({key.first, key.second, count.bytes, count.seconds});
  record.allocated_bytes = rank_.ledger.live().total();
  record.reserved_bytes = rank_.reserved_bytes ? rank_.reserved_bytes() : record.allocated_bytes;
  record.peak_bytes = rank_.ledger.peak().total();
}

void Trainer::report(Step& step) const {
  StepRecord& record = step.record;
  record.step = step.number;
  if (rank_.placement.has_head()) {
    record.loss = step.verdict.loss_sum / tokens_per_batch(options_);
    record.validation_loss = step.validation_loss;
  }
  record.gradient_norm = step.verdict.gradient_norm;
  record.learning_rate = step.learning_rate;
  record.skipped = step.skipped;
  record.tokens = options_.data.global_batch_sequences * options_.data.sequence_length;
  record.rank_tokens = static_cast<double>(record.tokens) / options_.rendezvous.world_size;
  record.model_flops = flops_.model * record.rank_tokens;
  record.hardware_flops = flops_.hardware * record.rank_tokens;
  reporter_.step(record);
}

// The training is done, whether its trace can be written or not.
void Trainer::write_trace_if_asked() const {
  if (!traces()) return;
  try {
    if (const Status written = write_trace(options_, trace_); !written)
      fmt::print(stderr, "caravan-trainer: {}\n", written.error().message);
  } catch (const std::exception& error) {  // of the device, which its marks are asked for
    fmt::print(stderr, "caravan-trainer: writing the trace: {}\n", error.what());
  }
}

void Trainer::report_finish(int step) const {
  reporter_.finished({.step = step, .peak = rank_.ledger.peak()});
}

}  // namespace caravan::trainer
