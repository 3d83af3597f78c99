// One token file, its format recognised by its header: llm.c `.bin`, or Megatron `.bin` with an `.idx` beside
// it.
//
// Every header field is checked against the file's size when it is opened. Errors name the file; those of its
// content have exit code 2, for others see read_error.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/result.h"
#include "data/input_file.h"
#include "data/token_format.h"

namespace caravan::data {

class TokenFile {
 public:
  // path: a token file, the `.idx` of a Megatron pair, or the pair's common name without ending.
  static Result<TokenFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const FileId& id() const { return file_.id(); }  // of the tokens
  const TokenLayout& layout() const { return layout_; }

  // Copies tokens [begin, begin + output.size()), which must exist. A token that is negative or not below
  // `vocabulary` is an error that names file, position and value.
  Status read(int64_t begin, std::span<int64_t> output, int64_t vocabulary) const;

 private:
  TokenFile(InputFile file, const TokenLayout& layout) : file_(std::move(file)), layout_(layout) {}

  InputFile file_;
  TokenLayout layout_;
};

}  // namespace caravan::data
