// A Hugging Face tokenizer, read from its tokenizer.json.
//
// Gives the ids that the `tokenizers` library gives for the whole text without added special tokens; names of
// special tokens inside the text become those tokens. Errors: a file that cannot be read or is no tokenizer
// (exit code 2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "data/tokenizer.h"
#include "rust/caravan_ffi.h"

namespace caravan::cli {

class TokenizerJson final : public data::Tokenizer {
 public:
  // path: the file, or a folder with a tokenizer.json in it.
  static Result<TokenizerJson> open(const std::string& path);

  int64_t vocabulary() const override { return vocabulary_; }
  bool byte_level() const override { return false; }
  Result<std::vector<data::Token>> encode(std::string_view text) const override;
  // Special tokens have no text.
  Result<std::string> decode(std::span<const uint32_t> ids) const override;

  std::optional<uint32_t> id_of(std::string_view token) const override;
  std::optional<uint32_t> special_id_of(std::string_view token) const override;
  // By the eos_token of a tokenizer_config.json beside the file.
  Result<std::optional<uint32_t>> configured_end_of_text() const override;

 private:
  struct Free {
    void operator()(CaravanTokenizer* tokenizer) const { caravan_tokenizer_free(tokenizer); }
  };
  using Handle = std::unique_ptr<CaravanTokenizer, Free>;
  TokenizerJson(std::string path, Handle handle);

  std::string path_;
  Handle handle_;
  int64_t vocabulary_;
};

}  // namespace caravan::cli
