// The weights of a checkpoint as a folder of their own, for other programs: safetensors under Hugging Face's
// names, config.json, and what else they ask for. The optimizer's states stay behind.
//
// Everything that is read is verified. The folder appears whole or not at all: it is written under a name
// that no other export has, synced and renamed, and never replaces anything. An export that fails removes
// what it has written; what one that was killed has left stays, since nobody can tell it from one that goes
// on. In the type that was trained in, tensors are byte for byte those of the checkpoint; fp32 comes from the
// master copies where there are some, bf16 is rounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/copied_file.h"

namespace caravan::checkpoint {

struct ExportRequest {
  std::string folder;  // a name in the volume, which nothing has
  ElementType type = ElementType::BF16;
  std::vector<CopiedFile> tokenizer = {};
  std::vector<int64_t> eos_tokens = {};  // for config.json; empty: the checkpoint's own
};

// Folders that exports to this name have left unfinished, or still write.
Result<std::vector<std::string>> unfinished_exports(const Volume& to, const std::string& folder);

Status export_weights(Checkpoint& from, Volume& to, const ExportRequest& request);

}  // namespace caravan::checkpoint
