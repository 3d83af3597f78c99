#include "worker/agent/supervisor.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>

#include "proto/caravan/v1alpha1/reasons.h"
#include "worker/agent/out_of_memory.h"
#include "worker/agent/rank_log.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptAttempts = 3;  // whose logs stay where they are trimmed

v1alpha1::RankExit failed_start(int attempt, int rank, const std::string& why) {
  v1alpha1::RankExit exit;
  exit.set_attempt(attempt);
  exit.set_rank(rank);
  exit.set_exit_code(-1);
  exit.mutable_failure()->set_reason(reasons::kRankInternal);
  exit.mutable_failure()->set_message(why);
  return exit;
}

}  // namespace

void Supervisor::start(const Master& master, UniqueFd listen_fd) {
  attempt_ = master.attempt;
  last_words_.clear();
  failed_starts_.clear();
  silent_.clear();
  oom_kills_ = read_oom_kills().value_or(0);
  const Result<fs::path> folder = make_folder();
  for (int rank = shape_.first_rank(config_.node); rank <= shape_.last_rank(config_.node); ++rank) {
    auto started = folder.and_then(
        [&](const fs::path& made) { return start_rank(rank, master, listen_fd.get(), made); });
    if (started) {
      ranks_.push_back(std::move(*started));
    } else {
      failed_starts_.push_back(failed_start(attempt_, rank, started.error().message));
    }
  }
}

Result<fs::path> Supervisor::make_folder() {
  const fs::path folder = config_.directory / fmt::format("attempt-{}", attempt_);
  std::error_code problem;
  for (const fs::path& place : {config_.directory, folder}) {
    if (fs::is_symlink(place, problem))
      return failure(fmt::format("cannot use {}: it is a link; remove it", place.string()));
  }
  if (config_.trims_logs) kept_folders_.push_back(folder);
  for (; kept_folders_.size() > kKeptAttempts; kept_folders_.pop_front())
    fs::remove_all(kept_folders_.front(), problem);
  fs::create_directories(folder, problem);
  if (problem) return failure(fmt::format("cannot make {}: {}", folder.string(), problem.message()));
  return folder;
}

Result<RankProcess> Supervisor::start_rank(int rank, const Master& master, int listen_fd,
                                           const fs::path& folder) const {
  RankLaunch launch{.trainer = config_.trainer,
                    .directory = folder,
                    .config = make_rank_config(config_.job, master, rank, config_.ranks),
                    .listen_fd = rank == 0 ? listen_fd : -1};
  const auto local_rank = static_cast<std::size_t>(rank - shape_.first_rank(config_.node));
  if (!config_.processors.empty()) launch.processors = config_.processors[local_rank];
  if (config_.trims_logs) launch.kept_log_bytes = kKeptLogBytes;
  return RankProcess::start(std::move(launch));
}

void Supervisor::command(const v1alpha1::RankCommand& command) {
  for (RankProcess& rank : ranks_) rank.command(command);
}

void Supervisor::stop() {
  for (RankProcess& rank : ranks_) rank.kill();
}

void Supervisor::end_silent_ranks(std::chrono::steady_clock::time_point now,
                                  std::chrono::duration<double> patience) {
  for (RankProcess& rank : ranks_) {
    if (rank.stopped_for(now) <= patience || rank.killed()) continue;
    v1alpha1::RankFailure& failure = last_words_[rank.rank()];
    failure.set_reason(reasons::kStalled);
    failure.set_message(
        fmt::format("a signal such as SIGSTOP stopped it and it was silent for {:.1f} s, so it was killed",
                    patience.count()));
    silent_.insert(rank.rank());
    rank.kill();
  }
}

void Supervisor::watch(std::vector<pollfd>& descriptors) const {
  for (const RankProcess& rank : ranks_) {
    descriptors.push_back({rank.pidfd(), POLLIN, 0});
    if (rank.report_fd() >= 0) descriptors.push_back({rank.report_fd(), POLLIN, 0});
  }
}

RankNews Supervisor::collect() {
  const auto found_at = std::chrono::steady_clock::now();
  RankNews news{.log = {}, .updates = {}, .exits = std::exchange(failed_starts_, {})};
  std::erase_if(ranks_, [&](RankProcess& rank) {
    // The end first: what a dead rank has written is complete.
    const std::optional<ExitStatus> status = rank.ended();
    for (v1alpha1::RankReport& report : rank.read_reports()) {
      if (report.has_failure()) last_words_[rank.rank()] = report.failure();
      v1alpha1::RankUpdate& update = news.updates.emplace_back();
      update.set_attempt(attempt_);
      update.set_rank(rank.rank());
      *update.mutable_report() = std::move(report);
    }
    for (std::string& line : rank.read_log(status.has_value(), found_at))
      news.log.push_back({.rank = rank.rank(), .text = std::move(line)});
    if (!status) return false;
    const bool by_us = rank.killed() && status->signal == SIGKILL && silent_.count(rank.rank()) == 0;
    if (!by_us) news.exits.push_back(describe_exit(rank, *status));
    return true;
  });
  // Reading the logs of many ranks takes its time.
  const auto dead_for = std::chrono::steady_clock::now() - found_at;
  for (v1alpha1::RankExit& exit : news.exits)
    exit.set_dead_microseconds(std::chrono::duration_cast<std::chrono::microseconds>(dead_for).count());
  return news;
}

v1alpha1::RankExit Supervisor::describe_exit(RankProcess& rank, const ExitStatus& status) {
  v1alpha1::RankExit exit;
  exit.set_attempt(attempt_);
  exit.set_rank(rank.rank());
  exit.set_exit_code(status.exit_code);
  exit.set_signal(status.signal);
  exit.set_out_of_memory(status.signal == SIGKILL && read_oom_kills().value_or(0) > oom_kills_);
  for (std::string& line : last_log_lines(rank.log_path())) exit.add_last_log_lines(std::move(line));
  if (const auto words = last_words_.find(rank.rank()); words != last_words_.end()) {
    *exit.mutable_failure() = words->second;
  }
  return exit;
}

}  // namespace caravan::agent
