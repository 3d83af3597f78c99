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

Result<std::string> model_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(fs::path(path) / checkpoint::kConfigFile, ignored)) return path;
  const auto folder = open_checkpoint_folder(path);
  if (!folder) return tl::unexpected(folder.error());
  return folder->volume->shown(checkpoint::step_folder(folder->steps.front()));
}

}  // namespace caravan::cli
