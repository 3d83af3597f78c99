// Token files as one long sequence: llm.c `.bin` and Megatron `.bin`/`.idx`, recognised by their headers, memory-mapped.
//
// A dataset is one file, or all token files of a folder or glob in name order. Every header field is checked against the
// file's size, so a truncated or foreign file is an error that names it and never a crash. Errors have exit code 2.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/result.h"

namespace caravan::data {

class TokenDataset {
 public:
  // path: file, folder or glob.
  static Result<TokenDataset> open(const std::string& path);

  TokenDataset(TokenDataset&&) noexcept;
  TokenDataset& operator=(TokenDataset&&) noexcept;
  ~TokenDataset();

  int64_t tokens() const;
  // Copies tokens [begin, begin + output.size()). A token that is negative or not below `vocabulary` is an error that
  // names file, position and value.
  Status read(int64_t begin, std::span<int64_t> output, int64_t vocabulary) const;

 private:
  struct Implementation;
  explicit TokenDataset(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace caravan::data
