#include "worker/trainer/loop/checkpoint_saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <utility>

#include "checkpoint/folder/counted_volume.h"
#include "checkpoint/folder/owner.h"
#include "checkpoint/folder/store.h"
#include "worker/trainer/checkpoint/replicas.h"
#include "worker/trainer/loop/checkpoint_terms.h"
#include "worker/trainer/loop/seconds_since.h"

namespace caravan::trainer {
namespace {

using namespace std::chrono_literals;
using checkpoint::RankWriter;
using checkpoint::SaveRequest;
using checkpoint::TrainingState;

constexpr std::nullopt_t kNoEnd = std::nullopt;
constexpr std::chrono::nanoseconds kShortestPause = 1ms;
constexpr std::chrono::nanoseconds kLongestPause = 100ms;
// Before the last checkpoint is tried again.
constexpr std::array kPauses = {0s, 1s, 10s};

SaveRequest request_of(const TrainerOptions& options, Beginning& beginning) {
  return {.owner = std::move(beginning.owner),
          .model = beginning.model,
          .layout = options.layout,
          .terms = terms_of(options),
          .state = beginning.state,
          .tokenizer = std::move(beginning.tokenizer)};
}

// On a thread of its own, which has nobody to catch what it throws.
Status guarded(const std::function<Status()>& part) {
  try {
    return part();
  } catch (const std::exception& error) {
    return failure(error.what());
  }
}

// All ranks end; the ones that differ are to be looked at.
tl::unexpected<TrainingFailure> spoilt_after(int step, int rank, const ReplicaDifference& wrong) {
  const bool is_one = std::ranges::count(wrong.ranks, rank) > 0;
  return tl::unexpected(TrainingFailure{
      is_one ? FailureReason::SilentCorruption : FailureReason::Communication,
      fmt::format("after step {}, {}: a device that computes or remembers wrongly; nothing of it is saved",
                  step, wrong.what)});
}

}  // namespace

CheckpointSaver::CheckpointSaver(Rank& rank, const Reporter& reporter, Beginning beginning,
                                 std::chrono::seconds patience)
    : rank_(rank),
      options_(rank.options.checkpoint),
      reporter_(reporter),
      patience_(patience),
      plan_(file_plan_of(rank)),
      volume_(checkpoint::counted(std::move(beginning.volume), done_)),
      snapshot_(state_of(rank), {.rank = rank.mesh.position.data, .size = rank.mesh.shape.data}),
      request_(request_of(rank.options, beginning)),
      answered_(std::move(beginning.answered_request)),
      saved_step_(beginning.state.step),
      interlude_(is_first(rank) ? &reporter : nullptr) {}

SaveShare CheckpointSaver::share(int step, const std::optional<std::string>& asked) {
  if (asked) hear(*asked);
  const planner::FailureRecord failures{.ranks = rank_.options.rendezvous.world_size,
                                        .attempts_before = rank_.options.rendezvous.attempt - 1,
                                        .run_seconds = seconds_since(start_)};
  return {.asks = asked_ || save_is_due(options_, step, seconds_since(last_tried_), cost_, failures),
          .progress = progress()};
}

// Whoever asks again must hear of the answer, or would wait for it without an end.
void CheckpointSaver::hear(const std::string& request) {
  if (request.empty() || request != answered_) {
    asked_ = request;
    return;
  }
  report({.outcome = CheckpointOutcome::Answered,
          .step = saved_step_,
          .path = options_.path,
          .request = request});
}

Outcome CheckpointSaver::after_step(const TrainingState& state, const SaveVerdict& verdict, bool skipped) {
  advance(verdict);
  if (!verdict.asked) return {};
  if (skipped) {
    if (!asked_) asked_ = "";
    return {};
  }
  interlude_.begin(state.step);
  return save(state, patience_);
}

Outcome CheckpointSaver::finish(const TrainingState& state, bool must, bool skipped) {
  const PhaseClock::Scope scope(rank_.clock, Phase::kCheckpoint);
  interlude_.begin(state.step + 1);
  waits_since_ = Clock::now();
  Outcome saved = save_last(state, must, skipped);
  waits_since_.reset();
  return saved;
}

Outcome CheckpointSaver::save_last(const TrainingState& state, bool must, bool skipped) {
  wait(kNoEnd);
  keeps_all_ = skipped;
  for (const std::chrono::seconds pause : kPauses) {
    if (saved_step_ == state.step) return {};
    std::this_thread::sleep_for(pause);
    if (Outcome saved = save(state, kNoEnd); !saved) return saved;
    wait(kNoEnd);
    if (!must) return {};
  }
  if (saved_step_ == state.step) return {};
  return tl::unexpected(TrainingFailure{
      FailureReason::DataUnavailable,
      fmt::format("the weights after the last step, {}, could not be saved in {}; the log says why",
                  state.step, options_.path)});
}

// --- what training waits for

Outcome CheckpointSaver::save(const TrainingState& state, Patience patience) {
  const Clock::time_point begin = last_tried_ = Clock::now();
  const std::string answers = std::exchange(asked_, std::nullopt).value_or("");
  if (!wait(patience)) {
    last_tried_ = Clock::now();
    give_up(state.step, seconds_since(begin), answers);
    return {};
  }
  rank_.optimizer->await_values();
  if (const auto wrong = compare_replicas(*rank_.mesh.world, rank_.parameters, rank_.mesh.shape))
    return spoilt_after(state.step, rank_.options.rendezvous.rank, *wrong);
  snapshot_.take();
  request_.state = state;
  answers_ = answers;
  request_.answered_request = answers.empty() ? answered_ : answers;
  begun_ = begin;
  start(Stage::Prepare);
  stall_seconds_ = waits_since_ ? 0 : seconds_since(begin);
  return {};
}

// Whether it came to an end. Meanwhile whoever asks what the rank does is told of its part.
bool CheckpointSaver::wait(Patience patience) {
  const bool ended = wait_while_shown(patience);
  rank_.clock.show_saving(std::nullopt);
  return ended;
}

// The first rank's patience counts.
bool CheckpointSaver::wait_while_shown(Patience patience) {
  const Clock::time_point begin = Clock::now();
  while (stage_ != Stage::None) {
    show_part();
    const bool waits = !patience || Clock::now() - begin < *patience;
    const SaveVerdict verdict =
        agree_on_save(*rank_.mesh.world, {.asks = waits, .progress = progress(), .done = done_});
    interlude_.go_on(verdict.done, /*has_end=*/patience.has_value());
    advance(verdict);
    slowest_rank_ = verdict.under_way.value_or(0);
    if (!verdict.asked) return stage_ == Stage::None;
    if (verdict.under_way) pause();
  }
  return true;
}

const char* CheckpointSaver::work_of(Stage stage) {
  switch (stage) {
    case Stage::Prepare:
      return "making the files of";
    case Stage::Write:
      return "writing its part of";
    case Stage::Commit:
      return "committing";
    case Stage::Tidy:
      return "tidying up behind";
    case Stage::None:
      break;
  }
  return "done with";
}

// As long as it runs, and no longer: whoever hangs in asking the others has no part in it any more.
void CheckpointSaver::show_part() {
  const std::scoped_lock lock(showing_);
  if (!part_runs_) return;
  rank_.clock.show_saving(
      Saving{.doing = fmt::format("{} the checkpoint of step {}", work_of(stage_), request_.state.step),
             .since = stage_begun_});
}

// On the part's thread.
void CheckpointSaver::end_part() {
  const std::scoped_lock lock(showing_);
  part_runs_ = false;
  rank_.clock.show_saving(std::nullopt);
}

// Before ranks ask each other again: until this one has something to say, and otherwise so that a stage takes
// little longer than its work does.
void CheckpointSaver::pause() const {
  const std::chrono::nanoseconds taken = Clock::now() - stage_begun_;
  const auto longest = std::clamp(taken / 16, kShortestPause, kLongestPause);
  if (task_.valid()) {
    task_.wait_for(longest);
  } else {
    std::this_thread::sleep_for(longest);
  }
}

void CheckpointSaver::give_up(int step, double waited, const std::string& request) {
  report({.outcome = CheckpointOutcome::Failed,
          .step = step,
          .path = options_.path,
          .seconds = waited,
          .stall_seconds = waited,
          .message =
              fmt::format("the checkpoint of step {} is still being written after {:.0f} s, by rank {} at "
                          "least: see what the volume is busy with, or write them less often",
                          request_.state.step, seconds_since(begun_), slowest_rank_),
          .request = request});
}

// --- the stages

void CheckpointSaver::start(Stage stage) {
  stage_ = stage;
  stage_begun_ = Clock::now();
  outcome_ = {};
  auto part = part_of(stage);
  if (!part) return;
  part_runs_ = true;
  task_ = std::async(std::launch::async, [this, part = std::move(part)] {
    Status ended = guarded(part);
    end_part();
    return ended;
  });
}

std::function<Status()> CheckpointSaver::part_of(Stage stage) {
  if (stage == Stage::Write) {
    return [this] {
      RankWriter writer(*volume_, plan_, request_.id(), rank_.options.rendezvous.rank);
      return snapshot_.write(plan_, writer);
    };
  }
  if (!is_first(rank_)) return {};
  if (stage == Stage::Prepare) {
    return [this] {
      return check_owner(*volume_, request_.owner).and_then([&] {
        return begin_save(*volume_, plan_, request_.id());
      });
    };
  }
  if (stage == Stage::Commit) return [this] { return commit(*volume_, plan_, request_); };
  if (written_ && keeps_all_) return {};
  if (written_) {
    return [this] {
      return check_owner(*volume_, request_.owner).and_then([&] {
        return checkpoint::keep_newest(*volume_, options_.keep_last, request_.state.step);
      });
    };
  }
  return [this] { return abandon_save(*volume_, request_.id()); };
}

SaveProgress CheckpointSaver::progress() {
  if (task_.valid()) {
    if (task_.wait_for(0s) != std::future_status::ready) return SaveProgress::UnderWay;
    outcome_ = task_.get();
    if (!outcome_) tell(outcome_.error().message);
  }
  return outcome_ ? SaveProgress::Ended : SaveProgress::Failed;
}

void CheckpointSaver::advance(const SaveVerdict& verdict) {
  if (stage_ == Stage::None || verdict.under_way) return;
  if (stage_ == Stage::Tidy) {
    stage_ = Stage::None;
  } else if (verdict.failed_rank || stage_ == Stage::Commit) {
    conclude(verdict.failed_rank);
    start(Stage::Tidy);
  } else {
    start(stage_ == Stage::Prepare ? Stage::Write : Stage::Commit);
  }
}

void CheckpointSaver::conclude(std::optional<int> failed_rank) {
  written_ = !failed_rank;
  const double seconds = seconds_since(begun_);
  if (waits_since_) stall_seconds_ += seconds_since(std::exchange(*waits_since_, Clock::now()));
  CheckpointRecord record{.outcome = written_ ? CheckpointOutcome::Written : CheckpointOutcome::Failed,
                          .step = request_.state.step,
                          .path = options_.path,
                          .seconds = seconds,
                          .stall_seconds = stall_seconds_,
                          .request = answers_};
  if (written_) {
    saved_step_ = request_.state.step;
    answered_ = request_.answered_request;
    cost_ = {.seconds = record.seconds, .stall_seconds = record.stall_seconds};
    for (const checkpoint::PlannedFile& file : plan_.files()) record.bytes += file.length;
  } else {
    record.message = outcome_ ? fmt::format("rank {} had trouble; its log says which", *failed_rank)
                              : outcome_.error().message;
  }
  report(record);
}

void CheckpointSaver::report(const CheckpointRecord& record) const {
  if (is_first(rank_)) reporter_.checkpoint(record);
}

}  // namespace caravan::trainer
