#include "checkpoint/folder/store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "checkpoint/format/names.h"

namespace caravan::checkpoint {
namespace {

constexpr int kNoAttempt = 0;
constexpr std::string_view kGoing = ".gone";  // behind the name of what is being removed

void keep_first_error(const Status& status, Status& kept) {
  if (kept && !status) kept = status;
}

// So that whoever still believes that he writes there can give it no name any more that is believed. A server
// that did it and whose answer was lost is asked again, and finds nothing to rename (NFS).
Result<std::string> rename_to_go(Volume& volume, const std::string& name) {
  if (name.ends_with(kGoing)) return name;
  std::string going = name + std::string(kGoing);
  const Status renamed = volume.rename(name, going);
  if (renamed) return going;
  const Result<std::vector<std::string>> names = volume.names("");
  const bool is_renamed = names && std::ranges::find(*names, going) != names->end();
  return is_renamed ? Result<std::string>(going) : tl::unexpected(renamed.error());
}

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

Result<bool> is_committed(const Volume& volume, int step) {
  return committed_steps(volume).map(
      [step](const std::vector<int>& steps) { return std::ranges::count(steps, step) > 0; });
}

Status keep_newest(Volume& volume, int count, int committed_step) {
  Result<std::vector<int>> steps = committed_steps(volume);
  if (!steps) return tl::unexpected(steps.error());
  std::erase_if(*steps, [&](int step) { return step > committed_step; });
  Status all;
  for (std::size_t i = static_cast<std::size_t>(count); i < steps->size(); ++i) {
    const std::string removed = unfinished_folder((*steps)[i], kNoAttempt);
    keep_first_error(volume.rename(step_folder((*steps)[i]), removed)
                         .and_then([&] { return volume.sync_folder(""); })
                         .and_then([&] { return volume.remove_folder(removed); }),
                     all);
  }
  return all;
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
  Status all;
  std::vector<std::string> unfinished;
  std::ranges::copy_if(*names, std::back_inserter(unfinished), is_unfinished);
  std::ranges::sort(unfinished, std::greater(), &std::string::size);  // names of what goes are free again
  for (const std::string& name : unfinished) {
    const Result<std::string> going = rename_to_go(volume, name);
    keep_first_error(going ? volume.remove_folder(*going) : tl::unexpected(going.error()), all);
  }
  return all;
}

}  // namespace caravan::checkpoint
