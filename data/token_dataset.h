// Token files as one long sequence: llm.c `.bin` and Megatron `.bin`/`.idx`, recognised by their headers.
//
// A dataset is one file, or all token files of a folder or glob in name order. Every header field is checked
// against the file's size, so a truncated or foreign file is an error that names it and never a crash, also
// when a file shrinks while it is being read. Any number of threads may read. Errors of the content have exit
// code 2, for others see read_error.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "data/token_file.h"

namespace caravan::data {

class TokenDataset {
 public:
  // path: file, folder or glob.
  static Result<TokenDataset> open(const std::string& path);

  int64_t tokens() const { return ends_.back(); }
  const std::vector<TokenFile>& files() const { return files_; }

  // Copies tokens [begin, begin + output.size()). A token that is negative or not below `vocabulary` is an
  // error that names file, position and value.
  Status read(int64_t begin, std::span<int64_t> output, int64_t vocabulary) const;

 private:
  explicit TokenDataset(std::vector<TokenFile> files);

  std::vector<TokenFile> files_;  // at least one
  std::vector<int64_t> ends_;     // of each file, in tokens from the start of the dataset
};

// That no file of the one is one of the other, by whatever name.
Status check_held_out(const TokenDataset& held_out, const TokenDataset& training);

}  // namespace caravan::data
