#include "worker/agent/straggler_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "policy/failure_policy.h"

namespace caravan::agent {
namespace {

// In less than that per step, threads that take turns on a processor differ for no reason of the rank's own.
constexpr double kLeastExtraSeconds = 0.01;

// Of `sorted` without the value at `left_out`.
double median_without(const std::vector<double>& sorted, std::size_t left_out) {
  const auto at = [&](std::size_t i) { return sorted[i < left_out ? i : i + 1]; };
  const std::size_t count = sorted.size() - 1;
  return count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
}

}  // namespace

std::string describe_straggler(const Straggler& straggler, int node, int step) {
  return fmt::format(
      "rank {} on node {} has needed at least {:.1f} times as long for its own work as the other ranks of "
      "its stage in {} steps in a row, in step {} {:.2f} times; all ranks wait for it: see what else runs on "
      "its machine, and whether it is throttled",
      straggler.rank, node, StragglerWatch::kRatio, StragglerWatch::kSteps, step, straggler.ratio);
}

StragglerWatch::StragglerWatch(int world_size, int ranks_per_stage)
    : world_size_(world_size), ranks_per_stage_(ranks_per_stage) {
  reset();
}

void StragglerWatch::reset() {
  named_ = 0;
  if (ranks_per_stage_ < 2) return;
  ratios_.assign(static_cast<std::size_t>(world_size_), 0);
  slow_steps_.assign(static_cast<std::size_t>(world_size_), 0);
}

std::vector<Straggler> StragglerWatch::add(const std::vector<double>& work_seconds) {
  std::vector<Straggler> named;
  if (ranks_per_stage_ < 2) return named;
  for (int first = 0; first < world_size_; first += ranks_per_stage_) judge_stage(work_seconds, first);
  for (int rank = 0; rank < world_size_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (slow_steps_[index] != kSteps || named_ == policy::kMostStragglers) continue;
    ++named_;
    ++slow_steps_[index];  // never at the number again
    named.push_back({.rank = rank, .ratio = ratios_[index]});
  }
  return named;
}

void StragglerWatch::judge_stage(const std::vector<double>& work_seconds, int first) {
  const auto begin = work_seconds.begin() + first;
  std::vector<double> sorted(begin, begin + ranks_per_stage_);
  std::sort(sorted.begin(), sorted.end());
  for (int rank = first; rank < first + ranks_per_stage_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const double own = work_seconds[index];
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), own) - sorted.begin();
    const double others = median_without(sorted, static_cast<std::size_t>(place));
    ratios_[index] = others > 0 ? own / others : 0;
    const bool is_slow = ratios_[index] >= kRatio && own - others >= kLeastExtraSeconds;
    int& in_a_row = slow_steps_[index];
    const bool is_named = in_a_row > kSteps;
    if (!is_named) in_a_row = is_slow ? in_a_row + 1 : 0;
  }
}

}  // namespace caravan::agent
