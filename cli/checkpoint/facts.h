// What commands say of a checkpoint, in words and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "caravan/v1alpha1/checkpoint.pb.h"
#include "checkpoint/folder/volume.h"
#include "common/result.h"

namespace caravan::cli {

Result<v1alpha1::CheckpointManifest> read_manifest(const checkpoint::Volume& volume, int step);

int64_t bytes_of(const v1alpha1::CheckpointManifest& manifest);
int64_t parameters_of(const v1alpha1::CheckpointManifest& manifest);

// "TP2 PP2 DP1".
std::string layout_text(const v1alpha1::CheckpointManifest& manifest);

// step, updates, samples, attempt, layout, bytes and path.
std::string summary_json(const v1alpha1::CheckpointManifest& manifest, const std::string& path);

}  // namespace caravan::cli
