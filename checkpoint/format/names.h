// Names in a job's checkpoint folder: that of a folder says what may be believed of what is in it. Pure.
//
//   step-000500             a checkpoint that was committed; nothing in it changes any more
//   step-000500.tmp-3       what attempt 3 was writing, or of 0, what is being removed: never read
//   step-000500.damaged-3   set aside by attempt 3, which found it damaged: kept for people, never read
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caravan::checkpoint {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kConfigFile[] = "config.json";
inline constexpr char kGenerationConfigFile[] = "generation_config.json";
inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kWeightsIndexFile[] = "model.safetensors.index.json";

std::string step_folder(int step);
std::string unfinished_folder(int step, int attempt);
std::string damaged_folder(int step, int attempt);
std::string share_file(int rank);

// The step of a committed checkpoint; none for every other name.
std::optional<int> committed_step(std::string_view folder);
bool is_unfinished(std::string_view folder);

}  // namespace caravan::checkpoint
