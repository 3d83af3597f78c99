// A committed checkpoint, opened for reading: any elements of any of its tensors, whoever wrote them.
//
// Nothing is believed that was not verified: the manifest by its own sum and rules, config.json against it,
// and of each file the blocks that hold what is asked for, and no others. What is not what was written is
// read once more, past the page cache: this machine's memory may have changed it. An error with code
// kBadInput means that the checkpoint is damaged, another that machine or volume failed, or that a later
// version wrote it; each names the file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/folder/copied_file.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/format/file_plan.h"
#include "checkpoint/format/training_state.h"
#include "planner/model/shape.h"

namespace caravan::checkpoint {

class Checkpoint {
 public:
  // volume outlives the checkpoint.
  static Result<Checkpoint> open(const Volume& volume, int step);
  // Of a folder with any name: the volume is the checkpoint.
  static Result<Checkpoint> open_itself(const Volume& volume);

  const std::string& folder() const { return folder_; }
  const TrainingState& state() const { return state_; }
  const TrainingTerms& terms() const { return terms_; }
  // The run of the job that wrote it.
  const std::string& run() const { return run_; }
  // The last request for a checkpoint that this one or one before it answers.
  const std::string& answered_request() const { return answered_request_; }
  const planner::ModelShape& model() const { return model_; }
  const FilePlan& plan() const { return plan_; }

  // Elements of a tensor that follow each other, as many as `bytes` has room for. Reads in ascending order of
  // elements read each block once. What a failure leaves in `bytes` is not verified.
  Status read(StateKind kind, std::size_t tensor, int64_t first_element, std::span<std::byte> bytes);

  // Of the model that training began with; none where that had none.
  Result<std::vector<CopiedFile>> tokenizer();

  // Every byte of every file, and that the files' headers are those that belong to the tensors. Keeps none
  // open.
  Status verify();

 private:
  struct File {
    int64_t length = 0;
    std::vector<uint32_t> sums;
  };
  // The block that was verified last, by kind of state.
  struct Block {
    std::string file;
    int64_t number = -1;
    std::vector<std::byte> bytes;
  };

  Checkpoint(const Volume& volume, std::string folder, FilePlan plan);

  static Result<Checkpoint> open_folder(const Volume& volume, const std::string& folder);
  std::string path(const std::string& name) const;
  Status read_model();
  Result<const InputFile*> open_file(const std::string& name);
  Status read_block(const std::string& name, int64_t number, std::span<std::byte> bytes);
  Status load_block(const std::string& name, int64_t number, Block& block);
  Status read_bytes(const std::string& name, int64_t offset, std::span<std::byte> bytes, Block& block);
  Result<std::string> read_whole(const std::string& name, int64_t most_bytes);
  tl::unexpected<Error> damaged(const std::string& name, const std::string& what) const;

  const Volume* volume_;
  std::string folder_;
  TrainingState state_;
  TrainingTerms terms_;
  std::string run_;
  std::string answered_request_;
  planner::ModelShape model_;
  FilePlan plan_;
  int64_t block_bytes_ = 0;
  std::map<std::string, File> files_;
  std::map<std::string, std::unique_ptr<InputFile>> open_;
  std::map<StateKind, Block> blocks_;
};

}  // namespace caravan::checkpoint
