// Tokenizes text files, each a document, into one token file, and the last part of it into a second one for
// validation.
//
// Whatever fails leaves no file behind, but with `replace` one of two that has its name already, and all
// where a disk fails at the very end: the error says so. Errors: unreadable texts, texts without a token,
// outputs that exist or cannot be created (exit code 2), a full disk (1), an interruption (130).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "data/token_format.h"
#include "data/tokenizer.h"

namespace caravan::data {

struct TokenizeRequest {
  std::vector<std::string> texts;  // paths; "-" is standard input
  std::string output;
  bool replace = false;                   // files that exist already
  std::optional<uint32_t> begin_of_text;  // goes before every document
  std::optional<uint32_t> end_of_text;    // goes after every document
  std::string validation_output;          // empty: none
  double validation_fraction = 0;         // of the tokens, between 0 and 1
};

struct TokenizeSummary {
  int64_t documents = 0;
  int64_t bytes = 0;
  int64_t tokens = 0;             // of `output`
  int64_t validation_tokens = 0;  // of `validation_output`
  TokenType type{};
};

struct TokenizeProgress {
  int64_t bytes = 0;
  std::optional<int64_t> total_bytes;  // unknown with standard input
  int64_t tokens = 0;
};

// stop_fd: ends the work when it becomes readable; -1 for none.
Result<TokenizeSummary> tokenize_files(const Tokenizer& tokenizer, const TokenizeRequest& request,
                                       int stop_fd,
                                       const std::function<void(const TokenizeProgress&)>& report);

}  // namespace caravan::data
