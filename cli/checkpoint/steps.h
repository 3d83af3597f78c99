// What list, verify and export do with the steps of a folder that is open.
//
// The job that writes there may remove its older checkpoints meanwhile, as keepLast says: of a step that is
// gone list and verify say so and go on, and export fails with the advice to take a newer one.
#pragma once

#include <string>

#include "cli/checkpoint/checkpoint_folder.h"
#include "common/result.h"

namespace caravan::cli {

struct ExportOptions {
  std::string path;
  std::string output;
  std::string type = {};  // empty: as it was trained
  std::string tokenizer = {};
};

// output: "text" or "json".
ExitCode list_steps(const CheckpointFolder& folder, const std::string& output);
// Bad input where none of them is left.
ExitCode verify_steps(const CheckpointFolder& folder, const std::string& output);
// The newest one.
Status export_step(const CheckpointFolder& folder, const ExportOptions& options);

}  // namespace caravan::cli
