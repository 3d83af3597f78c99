#include "worker/trainer/loop/checkpoint_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "worker/trainer/comm/gather_rows.h"
#include "worker/trainer/loop/agreement.h"
#include "worker/trainer/loop/checkpoint_terms.h"

namespace caravan::trainer {
namespace {

using checkpoint::Checkpoint;

tl::unexpected<TrainingFailure> fail(FailureReason reason, std::string message) {
  return tl::unexpected(TrainingFailure{reason, std::move(message)});
}

// Where no volume is mounted there may be the empty folder on which one was to be.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_empty(path, ignored);
}

// The rank that says so, where it is one alone of several.
std::optional<int> only_one(Communicator& world, bool own) {
  const Rows<1> all = gather_rows<1>(world, {own ? 1.0 : 0.0});
  const auto says_so = [](const std::array<double, 1>& row) { return row[0] != 0; };
  if (all.size() < 2 || std::ranges::count_if(all, says_so) != 1) return std::nullopt;
  return static_cast<int>(std::ranges::find_if(all, says_so) - all.begin());
}

// 0: there is none.
int newest_of(const std::vector<int>& steps) {
  return steps.empty() ? 0 : steps.front();
}

// As of data: it may be there on another machine, or later.
tl::unexpected<Error> not_mounted(const Error& error) {
  return failure(error.message + "; check the path, and whether the volume that holds it is mounted");
}

}  // namespace

CheckpointLoader::CheckpointLoader(Rank& rank, const Reporter& reporter, OpenFolder open,
                                   std::chrono::nanoseconds between, std::chrono::milliseconds pause)
    : rank_(rank),
      options_(rank.options.checkpoint),
      reporter_(reporter),
      open_(std::move(open)),
      between_(between),
      pauses_{pause, 10 * pause},
      plan_(file_plan_of(rank)),
      beginning_{.state = {},
                 .model = rank.options.model,
                 .tokenizer = {},
                 .volume = nullptr,
                 .owner = {.attempt = rank.options.rendezvous.attempt,
                           .run = rank.options.job_uid,
                           .job = rank.options.job_name}} {}

void CheckpointLoader::report(const CheckpointRecord& record) const {
  if (is_first(rank_)) reporter_.checkpoint(record);
}

bool CheckpointLoader::everywhere(const Status& own) {
  if (!own) {
    trouble_ = own.error().message;
    tell(trouble_);
  }
  return largest(*rank_.mesh.world, own ? 0 : 1) == 0;
}

// What the ranks read before that step.
JointWork CheckpointLoader::reading_before(int step) {
  const auto announce = [this, step](bool again) {
    if (is_first(rank_)) reporter_.interlude(step, /*goes_on=*/again);
  };
  return {*rank_.mesh.world, announce, between_};
}

std::string CheckpointLoader::why() const {
  return trouble_.empty() ? "another rank had trouble; its log says which" : trouble_;
}

// --- resume

Resumed CheckpointLoader::resume(Status may_begin) {
  may_begin_ = std::move(may_begin);
  if (Outcome found = find_beginning(); !found) return tl::unexpected(found.error());
  return std::move(beginning_);
}

// The folder is taken behind all that may refuse the job: one that cannot train here takes it from nobody.
Outcome CheckpointLoader::find_beginning() {
  if (options_.path.empty()) return begin();
  if (Outcome resumed = go_on(); !resumed) return resumed;
  if (beginning_.state.step == 0) {
    if (Outcome begun = begin(); !begun) return begun;
  }
  return own();
}

Outcome CheckpointLoader::go_on() {
  const PhaseClock::Scope scope(rank_.clock, Phase::kRestore);
  const Steps steps = list_steps();
  if (!steps) return tl::unexpected(steps.error());
  return resume_from(*steps);
}

Outcome CheckpointLoader::own() {
  const PhaseClock::Scope scope(rank_.clock, Phase::kRestore);
  if (!everywhere(take_over()))
    return fail(FailureReason::DataUnavailable, "the folder of checkpoints is not this attempt's: " + why());
  if (Outcome resumed = resume_newer(); !resumed) return resumed;
  // What cannot be removed the next start looks for again.
  const Status tidied = is_first(rank_) ? tidy() : Status{};
  if (!tidied) tell(tidied.error().message);
  return {};
}

Status CheckpointLoader::take_over() {
  if (!is_first(rank_)) return {};
  auto taken = checkpoint::take_over(*beginning_.volume, beginning_.owner);
  if (!taken) return tl::unexpected(taken.error());
  beginning_.owner = taken->own;
  const auto& before = taken->before;
  if (before && before->run != taken->own.run) {
    tell(fmt::format("{}: {} wrote here before; if it still trains, its checkpoints fail from now on",
                     options_.path, checkpoint::shown_owner(*before)));
  }
  return {};
}

// Whoever had the folder may have made steps of its own until it lost it: to go on from an older one would
// make them anew, and none of them could be saved.
Outcome CheckpointLoader::resume_newer() {
  Steps steps = list_steps();
  if (!steps) return tl::unexpected(steps.error());
  std::erase_if(*steps, [this](int step) {
    return std::ranges::count(damaged_, step) + std::ranges::count(failing_, step) > 0;
  });
  const bool has_newer = !steps->empty() && steps->front() > beginning_.state.step;
  return has_newer ? resume_from(*steps) : Outcome{};
}

// In the folder that is this attempt's, if it still is.
Status CheckpointLoader::tidy() {
  checkpoint::Volume& volume = *beginning_.volume;
  if (Status own = checkpoint::check_owner(volume, beginning_.owner); !own) return own;
  for (const int step : damaged_) {
    const Status aside = checkpoint::set_aside(volume, step, rank_.options.rendezvous.attempt);
    if (!aside) tell(aside.error().message);
  }
  return checkpoint::remove_unfinished(volume);
}

bool CheckpointLoader::Listing::lacks_newest() const {
  return newest > newest_of(steps);
}

// Newest first, as the first rank sees them. It may see late what others do, as over NFS; or its volume is
// not mounted, and to go on from less than the others see would lose what was trained.
CheckpointLoader::Steps CheckpointLoader::list_steps() {
  Listed listed = list_together();
  for (const auto pause : pauses_) {
    if (!listed || !listed->lacks_newest()) break;
    wait_for_volume(listed->newest + 1, pause);
    listed = list_together();
  }
  if (!listed) return tl::unexpected(listed.error());
  if (!listed->lacks_newest()) return std::move(listed->steps);
  return fail(is_first(rank_) ? FailureReason::DataUnavailable : FailureReason::Communication,
              fmt::format("rank {} sees the checkpoint of step {} in {}, and the first rank does not: is the "
                          "same volume mounted on both machines? Of one that was just removed, a machine may "
                          "know a minute later",
                          listed->rank, listed->newest, options_.path));
}

CheckpointLoader::Listed CheckpointLoader::list_together() {
  const Result<std::vector<int>> own = list_own();
  constexpr int kUnusable = -1;
  const Rows<1> all =
      gather_rows<1>(*rank_.mesh.world, {static_cast<double>(own ? newest_of(*own) : kUnusable)});
  const auto step_of = [](const std::array<double, 1>& row) { return static_cast<int>(row[0]); };
  if (!own) return input_failure(own.error());
  if (std::ranges::count(all, kUnusable, step_of) > 0)
    return fail(FailureReason::Communication, "another rank cannot use the folder of checkpoints");
  const auto newest = std::ranges::max_element(all, {}, step_of);
  return Listing{.steps = as_the_first(*rank_.mesh.world, *own),
                 .newest = step_of(*newest),
                 .rank = static_cast<int>(newest - all.begin())};
}

// Of others than the first rank one on each node looks for what that may lack.
Result<std::vector<int>> CheckpointLoader::list_own() {
  if (!beginning_.volume) {
    auto volume = open_(options_.path);
    if (!volume) return tl::unexpected(volume.error());
    beginning_.volume = *std::move(volume);
  }
  if (rank_.options.local_rank > 0) return {};
  return checkpoint::committed_steps(*beginning_.volume);
}

// A damaged one is set aside only when an older one has done: a folder in which none does stays as it is, and
// is refused again by the next start. Of one that the volume fails to give nobody knows whether it is
// damaged, so it keeps its name. That of the last step is waited for: a training that came to this step again
// could not save its end.
Outcome CheckpointLoader::resume_from(const std::vector<int>& steps) {
  Outcome unavailable;
  for (const int step : steps) {
    const auto begin = PhaseClock::Clock::now();
    const Load end = unavailable ? load_patiently(step) : load_together(step);
    if (end == Load::Done) {
      const std::chrono::duration<double> taken = PhaseClock::Clock::now() - begin;
      report({.outcome = CheckpointOutcome::Resumed,
              .step = step,
              .path = options_.path,
              .seconds = taken.count(),
              .stall_seconds = taken.count(),
              .request = beginning_.answered_request});
      return {};
    }
    if (end == Load::Refused) {
      return fail(FailureReason::InvalidInput,
                  refusal_.empty() ? "the checkpoint does not fit another rank's configuration" : refusal_);
    }
    const bool stays = end == Load::Failing && step < rank_.options.steps;
    const bool is_last = step == steps.back();
    report({.outcome = CheckpointOutcome::Unusable,
            .step = step,
            .path = options_.path,
            .message = why() + (stays && !is_last ? "; it keeps its name, and an older one is tried" : "")});
    if (end != Load::Damaged && !stays) return cannot_read_now(step);
    if (stays && unavailable) unavailable = cannot_read_now(step);
    (stays ? failing_ : damaged_).push_back(step);
  }
  return steps.empty() || !unavailable ? unavailable : none_is_intact(steps.size());
}

// One rank alone meets what is damaged in its part of the folder, or has a machine that reads wrongly: the
// next attempt may tell.
Outcome CheckpointLoader::none_is_intact(std::size_t count) const {
  const auto rank = only_one(*rank_.mesh.world, finds_damage_);
  if (!rank) {
    return fail(FailureReason::InvalidInput,
                fmt::format("{}: none of its {} checkpoints can be read; to begin anew, give another "
                            "checkpoint.path",
                            options_.path, count));
  }
  const bool is_own = *rank == rank_.options.rendezvous.rank;
  return fail(
      is_own ? FailureReason::SilentCorruption : FailureReason::Communication,
      fmt::format("{}: rank {}, and no other, can read none of its {} checkpoints: its machine may read them "
                  "wrongly; where another machine finds the same, they are damaged",
                  options_.path, *rank, count));
}

Outcome CheckpointLoader::cannot_read_now(int step) const {
  return fail(FailureReason::DataUnavailable,
              fmt::format("the checkpoint of step {} cannot be read now: {}", step, why()));
}

// A volume that another server takes over gives nothing for some seconds. One that has failed for longer is
// not waited for at each checkpoint.
CheckpointLoader::Load CheckpointLoader::load_patiently(int step) {
  Load end = load_together(step);
  for (const auto pause : pauses_) {
    if (end != Load::Failing) break;
    wait_for_volume(step + 1, pause);
    end = load_together(step);
  }
  return end;
}

// Told twice within the shortest stallTimeoutSeconds.
void CheckpointLoader::wait_for_volume(int delayed_step, std::chrono::milliseconds pause) const {
  constexpr std::chrono::milliseconds kBetween{500};
  for (auto left = pause; left.count() > 0; left -= kBetween) {
    if (is_first(rank_)) reporter_.interlude(delayed_step, /*goes_on=*/true);
    std::this_thread::sleep_for(std::min(left, kBetween));
  }
}

CheckpointLoader::Load CheckpointLoader::load_together(int step) {
  JointWork reading = reading_before(step + 1);
  return static_cast<Load>(reading.end(static_cast<int>(load(step, reading))));
}

CheckpointLoader::Load CheckpointLoader::load(int step, JointWork& reading) {
  trouble_.clear();
  Result<Checkpoint> from = Checkpoint::open(*beginning_.volume, step);
  Status read;
  if (from) {
    if (!(refusal_ = refusal_of(*from)).empty()) return Load::Refused;
    read = read_all(*from, reading);
  } else {
    read = tl::unexpected(from.error());
  }
  if (read) {
    const std::string change = warmup_change(from->terms(), step, rank_.options);
    if (is_first(rank_) && !change.empty()) tell(change);
    return Load::Done;
  }
  trouble_ = read.error().message;
  tell(fmt::format("the checkpoint of step {} cannot be used: {}", step, trouble_));
  if (!sees(step)) return Load::Unseen;
  if (read.error().code != ExitCode::kBadInput) return Load::Failing;
  finds_damage_ = true;
  return Load::Damaged;
}

// A file system of several machines may show one of them later what another has committed: that is no damage.
bool CheckpointLoader::sees(int step) const {
  const Result<std::vector<int>> seen = checkpoint::committed_steps(*beginning_.volume);
  return seen && std::ranges::count(*seen, step) > 0;
}

Status CheckpointLoader::read_all(Checkpoint& from, JointWork& reading) {
  beginning_.state = from.state();
  beginning_.answered_request = from.answered_request();
  beginning_.model.positions = from.model().positions;
  beginning_.model.bos_token = from.model().bos_token;
  beginning_.model.eos_tokens = from.model().eos_tokens;
  if (is_first(rank_)) {
    // Training needs none of it, and somebody may have mended a file of it.
    if (auto tokenizer = from.tokenizer()) {
      beginning_.tokenizer = *std::move(tokenizer);
    } else {
      tell(fmt::format("the next checkpoints have no tokenizer: {}", tokenizer.error().message));
    }
  }
  return read_state(from, state_of(rank_), {.between = [&] { reading.goes_on(); }});
}

std::string CheckpointLoader::refusal_of(const Checkpoint& from) const {
  const TrainerOptions& job = rank_.options;
  const auto sentence = [&](const std::string& why) {
    return fmt::format("{}: the job cannot go on from this checkpoint: {}",
                       beginning_.volume->shown(from.folder()), why);
  };
  if (!options_.resumes && from.run() != beginning_.owner.run) {
    return fmt::format(
        "{}: has checkpoints up to step {}, and checkpoint.resume is Never: give another checkpoint.path, or "
        "go on from them with Latest",
        options_.path, from.state().step);
  }
  const std::string other = checkpoint::difference(from.model(), job.model);
  if (!other.empty())
    return sentence("model: " + other + "; to train another model, give another checkpoint.path");
  const checkpoint::StateTypes &theirs = from.plan().types(), &ours = plan_.types();
  if (theirs.weights != ours.weights)
    return sentence(fmt::format("its weights are {}, training.precision makes them {}: set it back",
                                element_type_name(theirs.weights), element_type_name(ours.weights)));
  if (theirs.moments != ours.moments)
    return sentence(fmt::format("its moments are {}, training.optimizer.stateType makes them {}: set it back",
                                element_type_name(theirs.moments), element_type_name(ours.moments)));
  if (theirs != ours) return sentence("its master weights are of another type than those of this job");
  if (const std::string why = refusal(from.terms(), terms_of(job)); !why.empty()) return sentence(why);
  if (from.state().step > job.steps) {
    return sentence(
        fmt::format("it has done {} steps, training.steps is {}: raise it, or give another "
                    "checkpoint.path",
                    from.state().step, job.steps));
  }
  return {};
}

// --- weights to begin with

Outcome CheckpointLoader::begin() {
  if (!may_begin_) return input_failure(may_begin_.error());
  if (rank_.options.init_from.empty()) return {};
  JointWork reading = reading_before(1);
  const Status read = read_initial_weights(reading);
  const auto worst =
      static_cast<ExitCode>(reading.end(static_cast<int>(read ? ExitCode::kDone : read.error().code)));
  if (!read) return input_failure(read.error());
  if (worst != ExitCode::kDone)
    return input_failure({"another rank cannot read the weights of spec.model.initFrom", worst});
  if (is_first(rank_)) tell(fmt::format("begins with the weights of {}", rank_.options.init_from));
  return {};
}

Status CheckpointLoader::read_initial_weights(JointWork& reading) {
  const std::string& path = rank_.options.init_from;
  auto from = checkpoint::WeightsFolder::open(path);
  if (!from) return is_there(path) ? tl::unexpected(from.error()) : not_mounted(from.error());
  const std::string other = checkpoint::difference(from->model(), beginning_.model, checkpoint::kConfigFile);
  if (!other.empty()) {
    return bad_input(fmt::format(
        "{}: model: {}; give spec.model the preset or architecture that the folder has", path, other));
  }
  beginning_.model.positions = from->model().positions;
  beginning_.model.bos_token = from->model().bos_token;
  beginning_.model.eos_tokens = from->model().eos_tokens;
  if (Status read = read_tokenizer(*from); !read) return read;
  return read_weights(*from, state_of(rank_), {.between = [&] { reading.goes_on(); }});
}

// Training needs none, so what is wrong with it is told and costs no job.
Status CheckpointLoader::read_tokenizer(checkpoint::WeightsFolder& from) {
  if (!is_first(rank_)) return {};
  auto tokenizer = from.tokenizer();
  if (tokenizer) {
    beginning_.tokenizer = *std::move(tokenizer);
  } else if (tokenizer.error().code == ExitCode::kBadInput) {
    tell("checkpoints will have no tokenizer: " + tokenizer.error().message);
  } else {
    return tl::unexpected(tokenizer.error());
  }
  return {};
}

}  // namespace caravan::trainer
