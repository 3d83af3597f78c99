#include "cli/checkpoint/facts.h"

#include <fmt/format.h>

#include "checkpoint/format/manifest.h"
#include "checkpoint/format/names.h"
#include "common/json.h"

namespace caravan::cli {

Result<v1alpha1::CheckpointManifest> read_manifest(const checkpoint::Volume& volume, int step) {
  const std::string path = checkpoint::step_folder(step) + "/" + checkpoint::kManifestFile;
  const Result<std::string> text = checkpoint::read_text(volume, path, checkpoint::kLongestManifest);
  if (!text) return tl::unexpected(text.error());
  auto manifest = checkpoint::parse_manifest(*text);
  if (!manifest) return bad_input(fmt::format("{}: {}", volume.shown(path), manifest.error().message));
  return manifest;
}

int64_t bytes_of(const v1alpha1::CheckpointManifest& manifest) {
  int64_t bytes = 0;
  for (const auto& file : manifest.files()) bytes += file.length();
  return bytes;
}

int64_t parameters_of(const v1alpha1::CheckpointManifest& manifest) {
  int64_t elements = 0;
  for (const auto& tensor : manifest.tensors())
    elements += tensor.shape(0) * (tensor.shape_size() > 1 ? tensor.shape(1) : 1);
  return elements;
}

std::string layout_text(const v1alpha1::CheckpointManifest& manifest) {
  const v1alpha1::Plan& layout = manifest.layout();
  return fmt::format("TP{} PP{} DP{}", layout.tensor(), layout.pipeline(), layout.data());
}

std::string summary_json(const v1alpha1::CheckpointManifest& manifest, const std::string& path) {
  const auto& progress = manifest.progress();
  return fmt::format(
      R"("path":{},"job":{},"step":{},"updates":{},"samples":{},"attempt":{},"layout":{},"bytes":{})",
      json_string(path), json_string(manifest.job_name()), progress.step(), progress.updates(),
      progress.samples(), manifest.attempt(), json_string(layout_text(manifest)), bytes_of(manifest));
}

}  // namespace caravan::cli
