#include "checkpoint/folder/store.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "checkpoint/format/names.h"

namespace caravan::checkpoint {
namespace {

void keep_first_error(const Status& status, Status& kept) {
  if (kept && !status) kept = status;
}

// A server that did it and whose answer was lost is asked again, and finds nothing to rename (NFS).
Status give_name(Volume& volume, const std::string& from, const std::string& to) {
  const Status renamed = volume.rename(from, to);
  if (renamed) return renamed;
  const Result<std::vector<std::string>> names = volume.names("");
  const auto has = [&](const std::string& name) { return std::ranges::count(*names, name) > 0; };
  return names && has(to) && !has(from) ? Status{} : renamed;
}

// So that whoever still believes that he writes there can give it no name any more that is believed.
Result<std::string> rename_to_go(Volume& volume, const std::string& name) {
  std::string going = going_folder(name);
  const Status renamed = going == name ? Status{} : give_name(volume, name, going);
  return renamed.map([&] { return std::move(going); });
}

Result<std::vector<std::string>> names_of(const Volume& volume, bool (*kind)(std::string_view)) {
  Result<std::vector<std::string>> names = volume.names("");
  if (names) std::erase_if(*names, std::not_fn(kind));
  return names;
}

// Once the loss of the names is durable.
Status remove_going(Volume& volume) {
  const Result<std::vector<std::string>> going = names_of(volume, is_going);
  if (!going) return tl::unexpected(going.error());
  if (going->empty()) return {};
  Status all = volume.sync_folder("");
  if (!all) return all;
  for (const std::string& name : *going) keep_first_error(volume.remove_folder(name), all);
  return all;
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
    const Result<std::string> going = rename_to_go(volume, step_folder((*steps)[i]));
    if (!going) keep_first_error(tl::unexpected(going.error()), all);
  }
  keep_first_error(remove_going(volume), all);
  return all;
}

Status set_aside(Volume& volume, int step, int attempt) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  // Attempts are numbered from 1 again by whoever starts the job anew.
  while (std::ranges::find(*names, damaged_folder(step, attempt)) != names->end()) ++attempt;
  return give_name(volume, step_folder(step), damaged_folder(step, attempt)).and_then([&] {
    return volume.sync_folder("");
  });
}

Status remove_unfinished_folder(Volume& volume, const std::string& folder) {
  const Result<std::string> going = rename_to_go(volume, folder);
  Status all = going ? Status{} : tl::unexpected(going.error());
  keep_first_error(volume.remove_folder(going.value_or(folder)), all);
  return all;
}

Status remove_unfinished(Volume& volume) {
  Result<std::vector<std::string>> unfinished = names_of(volume, is_unfinished);
  if (!unfinished) return tl::unexpected(unfinished.error());
  std::ranges::sort(*unfinished, std::greater(), &std::string::size);  // names of what goes are free again
  Status all;
  for (const std::string& name : *unfinished) keep_first_error(remove_unfinished_folder(volume, name), all);
  return all;
}

}  // namespace caravan::checkpoint
