// manifest.json: the message of proto/caravan/v1alpha1/checkpoint.proto with a sum of its text.
//
// What is read was checked: the sum, sizes that do not overflow, names that stay in the folder, sums for
// every block, boxes that hold each element of each tensor once. Versions read each other's manifests: one
// leaves out the fields that it does not know, and what may not be left out raises the format. Errors are bad
// input and name the field, but for a manifest of a later format, which is not damaged; the caller names the
// file. Pure.
#pragma once

#include <string>
#include <string_view>

#include "caravan/v1alpha1/checkpoint.pb.h"
#include "checkpoint/format/file_plan.h"
#include "checkpoint/format/training_state.h"
#include "common/result.h"

namespace caravan::checkpoint {

inline constexpr int kNewestFormat = 2;
inline constexpr int64_t kLongestManifest = int64_t{256} << 20;

// Fills in format and sum.
std::string manifest_text(v1alpha1::CheckpointManifest manifest);
Result<v1alpha1::CheckpointManifest> parse_manifest(std::string_view text);

// One box for all of a tensor in place of those that ranks wrote, which must hold each of its elements once:
// the manifest is as long with thousands of ranks as with one.
Status join_boxes(v1alpha1::CheckpointManifest& manifest);

TrainingState state_of(const v1alpha1::CheckpointManifest& manifest);
TrainingTerms terms_of(const v1alpha1::CheckpointManifest& manifest);
// As in safetensors.
const std::string& moments_type_of(const v1alpha1::CheckpointTensor& tensor);
// Of a manifest that parse_manifest has read.
FilePlan plan_of(const v1alpha1::CheckpointManifest& manifest);

// A sum as it stands in JSON.
std::string sum_text(uint32_t sum);

}  // namespace caravan::checkpoint
