// What turns text into token ids, and back. Implementations may be used by any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace caravan::data {

struct Token {
  uint32_t id = 0;
  int64_t begin = 0;  // first byte of the text it stands for

  bool operator==(const Token&) const = default;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Every id is below it.
  virtual int64_t vocabulary() const = 0;

  // Whether each byte is a token by itself. If not, tokens depend on the text around them, and the text must
  // be UTF-8.
  virtual bool byte_level() const = 0;

  virtual Result<std::vector<Token>> encode(std::string_view text) const = 0;

  // The token of that name; absent where tokens have none.
  virtual std::optional<uint32_t> id_of(std::string_view) const { return std::nullopt; }

  // The same of special tokens alone. Another one stands for a text that happens to be such a name: to Gemma,
  // </s> is a tag of HTML.
  virtual std::optional<uint32_t> special_id_of(std::string_view) const { return std::nullopt; }

  // What the configuration beside it calls the end of a text; absent where that says nothing.
  virtual Result<std::optional<uint32_t>> configured_end_of_text() const { return std::nullopt; }

  // The text of tokens. Where a character is not whole it is bytes without meaning, or U+FFFD.
  virtual Result<std::string> decode(std::span<const uint32_t> ids) const = 0;
};

// A token's id is the byte; no end-of-text token.
class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocabulary() const override { return 256; }
  bool byte_level() const override { return true; }
  Result<std::vector<Token>> encode(std::string_view text) const override;
  Result<std::string> decode(std::span<const uint32_t> ids) const override;
};

}  // namespace caravan::data
