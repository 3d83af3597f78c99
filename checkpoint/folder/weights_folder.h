// A folder with a Llama model as Hugging Face keeps it, opened for reading: config.json and safetensors, one
// file or several with an index. A checkpoint is such a folder too.
//
// Files are opened, and their headers read, when a tensor of theirs is asked for; every size is held against
// the file, and config.json says which tensors there must be. Folders of other programs have no sums; of a
// checkpoint (manifest.json is there) every block that is read is verified by its own.
// Links are followed, since Hugging Face's cache consists of them: only what stands at names in the folder
// that the user gave is read, only regular files, and only as numbers of the format. That is why names in an
// index may not lead elsewhere. Errors name file, tensor and field; kBadInput where the content is wrong. Of
// what open() and read() miss in a checkpoint that its job removes meanwhile they say that.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/hugging_face/tensors.h"
#include "checkpoint/hugging_face/weight_map.h"
#include "checkpoint/safetensors/header.h"
#include "planner/model/shape.h"

namespace caravan::checkpoint {

class WeightsFolder {
 public:
  static Result<WeightsFolder> open(const std::string& path);

  const planner::ModelShape& model() const { return model_; }
  // Tokens that end its texts: by generation_config.json, else by config.json; empty where neither says.
  Result<std::vector<int64_t>> eos_tokens() const;
  // None where the folder has none. Of a checkpoint it is what was written with it, or else lies there.
  Result<std::vector<CopiedFile>> tokenizer();
  // Tensors that the files hold, also those that no Llama model has.
  std::vector<std::string> names() const;
  Result<const TensorEntry*> find(const std::string& tensor);

  // That the tensor is there, with this shape and elements that weights may have.
  Status check(const NamedShape& wanted);
  // The same for all tensors of the model. Until then its sizes are what somebody wrote into config.json;
  // afterwards the files have them, so that they may be laid out in memory.
  Status check_all();
  // Elements of a tensor that follow each other, as another type; as many as `bytes` has room for.
  Status read(const std::string& tensor, int64_t first_element, ElementType as, std::span<std::byte> bytes);

 private:
  struct File {
    std::unique_ptr<InputFile> input;  // absent of a checkpoint, which reads its own
    int64_t data_begin = 0;
    std::map<std::string, TensorEntry, std::less<>> tensors;
  };
  struct Found {
    const File* file;
    const TensorEntry* entry;
  };

  explicit WeightsFolder(std::unique_ptr<Volume> volume) : volume_(std::move(volume)) {}

  Status open_files();
  tl::unexpected<Error> explained(const Error& error) const;
  Status read_model();
  Status find_files(const std::vector<std::string>& names);
  Status open_checkpoint();
  Result<const File*> open_file(const std::string& name);
  const File* add_file(const std::string& name, File file, const Header& header);
  Result<Found> look_up(const std::string& tensor);
  Status read_as(const Found& found, int64_t first_element, ElementType as, std::span<std::byte> bytes);
  Status read_stored(const Found& found, int64_t first_element, std::span<std::byte> bytes);

  std::unique_ptr<Volume> volume_;
  planner::ModelShape model_;
  WeightMap places_;
  std::map<std::string, File> files_;
  std::optional<Checkpoint> checkpoint_;
};

}  // namespace caravan::checkpoint
