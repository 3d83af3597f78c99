// Writes what one rank owns into the files of a checkpoint under way, and tells when it is on disk.
//
// A checkpoint is made in four parts, so that each may come to run beside training: a snapshot of what the
// rank owns; this, of any rank at any time; the acknowledgement, a file rank-<n>.json with boxes and sums,
// written when all before it is durable; the commit (commit.h) by one rank when all have acknowledged.
//
// Sums are taken from memory and not read back, so that they tell of a disk or network that changes bytes.
// Files stay open until finish(). Errors name the file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/folder/volume.h"
#include "checkpoint/format/block_sums.h"
#include "checkpoint/format/box.h"
#include "checkpoint/format/file_plan.h"
#include "checkpoint/format/names.h"

namespace caravan::checkpoint {

// Which save of which attempt of which run; files of another are never mixed with it.
struct SaveId {
  int step = 0;
  int attempt = 1;
  std::string run = {};  // names.h, Owner

  std::string folder() const { return unfinished_folder(step, attempt, run); }
};

class RankWriter {
 public:
  // The folder is there (commit.h, begin_save). volume and plan outlive the writer.
  RankWriter(Volume& volume, const FilePlan& plan, SaveId id, int rank, int64_t block_bytes = kBlockBytes);

  // Elements of a tensor that follow each other, from `first_element`; nobody else writes any of them.
  Status write(StateKind kind, std::size_t tensor, int64_t first_element, std::span<const std::byte> bytes);
  // What was written of a tensor, of all kinds alike.
  void add_box(std::size_t tensor, const Box& box);
  // Makes everything durable and says so. Nothing may be written afterwards.
  Status finish();

 private:
  struct OpenFile {
    std::unique_ptr<OutputFile> file;
    BlockShares shares;
  };
  Result<OpenFile*> open(std::size_t number);
  Status write_blocks(OpenFile& to, int64_t offset, std::span<const std::byte> bytes);

  Volume& volume_;
  const FilePlan& plan_;
  const SaveId id_;
  const int rank_;
  const int64_t block_bytes_;
  std::map<std::size_t, OpenFile> files_;
  std::map<std::size_t, std::vector<Box>> boxes_;
};

}  // namespace caravan::checkpoint
