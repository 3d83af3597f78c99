#include "cli/checkpoint/checkpoint_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<checkpoint::Volume>> open(const fs::path& path) {
  auto volume = checkpoint::open_volume(path.string());
  if (!volume) return bad_input(volume.error().message);
  return volume;
}

}  // namespace

Result<CheckpointFolder> open_folder(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error).lexically_normal();
  const fs::path trimmed = full.has_filename() ? full : full.parent_path();  // without a slash at its end
  if (const auto step = checkpoint::committed_step(trimmed.filename().string())) {
    auto volume = open(trimmed.parent_path());
    if (!volume) return tl::unexpected(volume.error());
    if (!checkpoint::is_committed(**volume, *step).value_or(true)) {
      return bad_input(
          fmt::format("{}: there is no such checkpoint; `caravan checkpoint list {}` shows those "
                      "that there are",
                      path, trimmed.parent_path().string()));
    }
    return CheckpointFolder{*std::move(volume), {*step}};
  }
  auto volume = open(path);
  if (!volume) return tl::unexpected(volume.error());
  auto steps = checkpoint::committed_steps(**volume);
  if (!steps) return tl::unexpected(steps.error());
  return CheckpointFolder{*std::move(volume), *std::move(steps)};
}

Result<CheckpointFolder> open_checkpoint_folder(const std::string& path) {
  Result<CheckpointFolder> folder = open_folder(path);
  if (folder && folder->steps.empty())
    return bad_input(
        fmt::format("{}: holds no checkpoint; those of a job are folders step-000001 and so on", path));
  return folder;
}

bool was_removed(const CheckpointFolder& folder, int step) {
  return !checkpoint::is_committed(*folder.volume, step).value_or(true);
}

Result<std::string> model_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(fs::path(path) / checkpoint::kConfigFile, ignored)) return path;
  const auto folder = open_checkpoint_folder(path);
  if (!folder) return tl::unexpected(folder.error());
  return folder->volume->shown(checkpoint::step_folder(folder->steps.front()));
}

}  // namespace caravan::cli
