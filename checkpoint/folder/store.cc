#include "checkpoint/folder/store.h"

#include <algorithm>
#include <functional>

#include "checkpoint/format/names.h"

namespace caravan::checkpoint {
namespace {

constexpr int kNoAttempt = 0;

}  // namespace

Result<std::vector<int>> committed_steps(const Volume& volume) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  std::vector<int> steps;
  for (const std::string& name : *names)
    if (const auto step = committed_step(name)) steps.push_back(*step);
  std::ranges::sort(steps, std::greater<>());
  return steps;
}

Status keep_newest(Volume& volume, int count, int committed_step) {
  Result<std::vector<int>> steps = committed_steps(volume);
  if (!steps) return tl::unexpected(steps.error());
  std::erase_if(*steps, [&](int step) { return step > committed_step; });
  for (std::size_t i = static_cast<std::size_t>(count); i < steps->size(); ++i) {
    const std::string removed = unfinished_folder((*steps)[i], kNoAttempt);
    Status gone = volume.rename(step_folder((*steps)[i]), removed)
                      .and_then([&] { return volume.sync_folder(""); })
                      .and_then([&] { return volume.remove_folder(removed); });
    if (!gone) return gone;
  }
  return {};
}

Status set_aside(Volume& volume, int step, int attempt) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  // Attempts are numbered from 1 again by whoever starts the job anew.
  while (std::ranges::find(*names, damaged_folder(step, attempt)) != names->end()) ++attempt;
  return volume.rename(step_folder(step), damaged_folder(step, attempt)).and_then([&] {
    return volume.sync_folder("");
  });
}

Status remove_unfinished(Volume& volume) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    if (!is_unfinished(name)) continue;
    if (Status removed = volume.remove_folder(name); !removed) return removed;
  }
  return {};
}

}  // namespace caravan::checkpoint
