#include "worker/trainer/loop/checkpoint_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "checkpoint/hugging_face/tensors.h"
#include "worker/trainer/loop/agreement.h"

namespace caravan::trainer {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RankWriter;
using checkpoint::SaveRequest;
using checkpoint::TrainingState;

checkpoint::TrainingTerms terms_of(const TrainerOptions& options) {
  return {.seed = options.data.seed,
          .sequence_length = options.data.sequence_length,
          .global_batch_sequences = options.data.global_batch_sequences,
          .steps = options.steps};
}

tl::unexpected<TrainingFailure> fail(FailureReason reason, std::string message) {
  return tl::unexpected(TrainingFailure{reason, std::move(message)});
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(Rank& rank, const Reporter& reporter)
    : rank_(rank), options_(rank.options.checkpoint), model_(rank.options.model), reporter_(reporter) {
  if (options_.path.empty()) return;
  plan_.emplace(checkpoint::tensors_of(rank.options.model), state_types(rank.storage));
}

bool CheckpointKeeper::is_first() const {
  return rank_.options.rendezvous.rank == 0;
}

RankState CheckpointKeeper::own_state() const {
  return {.parameters = rank_.parameters,
          .optimizer = *rank_.optimizer,
          .placement = rank_.placement,
          .slice = {.rank = rank_.mesh.position.data, .size = rank_.mesh.shape.data}};
}

void CheckpointKeeper::tell(const std::string& level, const std::string& message) const {
  reporter_.log(level, message);
  fmt::print(stderr, "caravan-trainer: {}\n", message);
}

void CheckpointKeeper::report(const CheckpointRecord& record) const {
  if (is_first()) reporter_.checkpoint(record);
}

std::string CheckpointKeeper::why() const {
  return trouble_.empty() ? "another rank had trouble; its log says which" : trouble_;
}

// --- resume

Resumed CheckpointKeeper::resume() {
  const Resumed from = options_.path.empty() ? Resumed(TrainingState{}) : go_on();
  const bool begins = from && from->step == 0;
  return begins && !rank_.options.init_from.empty() ? begin() : from;
}

Resumed CheckpointKeeper::go_on() {
  auto volume = checkpoint::make_volume(options_.path);
  std::vector<int> steps;
  Status listed;
  if (volume) {
    volume_ = *std::move(volume);
    if (is_first()) {
      auto found = checkpoint::committed_steps(*volume_);
      if (found) {
        steps = *std::move(found);
      } else {
        listed = tl::unexpected(found.error());
      }
    }
  } else {
    listed = tl::unexpected(volume.error());
  }
  if (!everywhere(listed)) {
    if (!listed) return input_failure(listed.error());
    return fail(FailureReason::DataUnavailable, "another rank cannot use the folder of checkpoints");
  }
  return resume_from(as_the_first(*rank_.mesh.world, steps)).and_then([&](TrainingState state) -> Resumed {
    on_first_rank([&] { return checkpoint::remove_unfinished(*volume_); });
    saved_step_ = state.step;
    return state;
  });
}

// One is set aside only when an older one has done: a folder in which none does stays as it is, and is
// refused again by the next start.
Resumed CheckpointKeeper::resume_from(const std::vector<int>& steps) {
  std::vector<int> damaged;
  for (const int step : steps) {
    const auto end = static_cast<Load>(largest(*rank_.mesh.world, static_cast<int>(load(step))));
    if (end == Load::Done) {
      for (const int worse : damaged) leave(worse);
      report({.outcome = CheckpointOutcome::Resumed, .step = step, .path = options_.path});
      return resumed_;
    }
    if (end == Load::Refused) {
      return fail(FailureReason::InvalidInput,
                  refusal_.empty() ? "the checkpoint does not fit another rank's configuration" : refusal_);
    }
    report({.outcome = CheckpointOutcome::Unusable, .step = step, .path = options_.path, .message = why()});
    if (end == Load::Unreadable) {
      return fail(FailureReason::DataUnavailable,
                  fmt::format("the checkpoint of step {} cannot be read now: {}", step, why()));
    }
    damaged.push_back(step);
  }
  if (steps.empty()) return TrainingState{};
  return fail(FailureReason::InvalidInput,
              fmt::format("{}: none of its {} checkpoints can be read; to begin anew, give another "
                          "checkpoint.path",
                          options_.path, steps.size()));
}

CheckpointKeeper::Load CheckpointKeeper::load(int step) {
  trouble_.clear();
  Result<Checkpoint> from = Checkpoint::open(*volume_, step);
  Status read;
  if (from) {
    if (!(refusal_ = refusal_of(*from)).empty()) return Load::Refused;
    resumed_ = from->state();
    model_.positions = from->model().positions;
    model_.bos_token = from->model().bos_token;
    model_.eos_tokens = from->model().eos_tokens;
    read = read_state(*from, own_state());
  } else {
    read = tl::unexpected(from.error());
  }
  if (read) return Load::Done;
  trouble_ = read.error().message;
  tell("warn", fmt::format("the checkpoint of step {} cannot be used: {}", step, trouble_));
  return read.error().code == ExitCode::kBadInput ? Load::Damaged : Load::Unreadable;
}

std::string CheckpointKeeper::refusal_of(const Checkpoint& from) const {
  const TrainerOptions& job = rank_.options;
  const auto sentence = [&](const std::string& why) {
    return fmt::format("{}: the job cannot go on from this checkpoint: {}", volume_->shown(from.folder()),
                       why);
  };
  const std::string other = checkpoint::difference(from.model(), job.model);
  if (!other.empty())
    return sentence("model: " + other + "; to train another model, give another checkpoint.path");
  if (from.plan().types() != plan_->types()) {
    return sentence(fmt::format("its weights are {}, training.precision makes them {}: set it back",
                                element_type_name(from.plan().types().weights),
                                element_type_name(plan_->types().weights)));
  }
  if (const std::string why = refusal(from.terms(), terms_of(job)); !why.empty()) return sentence(why);
  if (from.state().step > job.steps) {
    return sentence(
        fmt::format("it has done {} steps, training.steps is {}: raise it, or give another "
                    "checkpoint.path",
                    from.state().step, job.steps));
  }
  return {};
}

void CheckpointKeeper::leave(int step) {
  if (!is_first()) return;
  const Status aside = checkpoint::set_aside(*volume_, step, rank_.options.rendezvous.attempt);
  if (!aside) tell("warn", aside.error().message);
}

// --- weights to begin with

Resumed CheckpointKeeper::begin() {
  const Status read = read_initial_weights();
  const auto worst = static_cast<ExitCode>(
      largest(*rank_.mesh.world, static_cast<int>(read ? ExitCode::kDone : read.error().code)));
  if (!read) return input_failure(read.error());
  if (worst != ExitCode::kDone)
    return input_failure({"another rank cannot read the weights of spec.model.initFrom", worst});
  if (is_first()) tell("info", fmt::format("begins with the weights of {}", rank_.options.init_from));
  return TrainingState{};
}

Status CheckpointKeeper::read_initial_weights() {
  const std::string& path = rank_.options.init_from;
  auto from = checkpoint::WeightsFolder::open(path);
  if (!from) return tl::unexpected(from.error());
  const std::string other = checkpoint::difference(from->model(), model_, checkpoint::kConfigFile);
  if (!other.empty()) {
    return bad_input(fmt::format(
        "{}: model: {}; give spec.model the preset or architecture that the folder has", path, other));
  }
  const int64_t positions = from->model().positions.value_or(0);
  model_.positions = std::max(positions, rank_.options.data.sequence_length);
  model_.bos_token = from->model().bos_token;
  model_.eos_tokens = from->model().eos_tokens;
  return read_weights(*from, own_state());
}

// --- save

void CheckpointKeeper::save_if_due(int step, int64_t samples, bool last) {
  if (options_.path.empty() || step == saved_step_) return;
  if (!last && step % options_.every_steps != 0) return;
  save({.step = step, .updates = rank_.optimizer->updates(), .samples = samples});
  saved_step_ = step;
}

// Each part begins when the one before it has succeeded on every rank.
void CheckpointKeeper::save(const TrainingState& state) {
  trouble_.clear();
  const auto begin = PhaseClock::Clock::now();
  const SaveRequest request = request_of(state);
  const bool committed = on_first_rank([&] { return begin_save(*volume_, *plan_, request.id()); }) &&
                         everywhere([&] {
                           RankWriter writer(*volume_, *plan_, request.id(), rank_.options.rendezvous.rank);
                           return write_state(own_state(), *plan_, writer);
                         }()) &&
                         on_first_rank([&] { return commit(*volume_, *plan_, request); });
  const std::chrono::duration<double> taken = PhaseClock::Clock::now() - begin;
  CheckpointRecord record{.outcome = committed ? CheckpointOutcome::Written : CheckpointOutcome::Failed,
                          .step = state.step,
                          .path = options_.path,
                          .seconds = taken.count()};
  if (committed) {
    for (const checkpoint::PlannedFile& file : plan_->files()) record.bytes += file.length;
  } else {
    record.message = why();
  }
  report(record);
  if (!is_first()) return;
  // What could not be removed the next start looks for again.
  const Status tidied = committed ? checkpoint::keep_newest(*volume_, options_.keep_last, state.step)
                                  : abandon_save(*volume_, request.id());
  if (!tidied) tell("warn", tidied.error().message);
}

SaveRequest CheckpointKeeper::request_of(const TrainingState& state) const {
  const TrainerOptions& options = rank_.options;
  return {.job_name = options.job_name,
          .attempt = options.rendezvous.attempt,
          .model = model_,
          .layout = options.layout,
          .terms = terms_of(options),
          .state = state};
}

bool CheckpointKeeper::on_first_rank(const std::function<Status()>& action) {
  return everywhere(is_first() ? action() : Status{});
}

bool CheckpointKeeper::everywhere(const Status& own) {
  if (!own) {
    trouble_ = own.error().message;
    tell("warn", trouble_);
  }
  return largest(*rank_.mesh.world, own ? 0 : 1) == 0;
}

}  // namespace caravan::trainer
