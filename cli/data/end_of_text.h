// The token that ends a text, as tokenizers say it: by a special token with a well-known name, or else by the
// configuration that came with them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/result.h"
#include "data/tokenizer.h"

namespace caravan::cli {

// Of Llama 3, GPT-2 and Qwen, Gemma, Llama 2. Before </s>, since tokenizers with <eos> may have both.
inline constexpr std::array<std::string_view, 4> kEndsOfText{"<|end_of_text|>", "<|endoftext|>", "<eos>",
                                                             "</s>"};

// Absent where the tokenizer says none. Errors name the file that is wrong (exit code 2).
inline Result<std::optional<uint32_t>> find_end_of_text(const data::Tokenizer& tokenizer) {
  for (const std::string_view known : kEndsOfText) {
    if (const std::optional<uint32_t> id = tokenizer.special_id_of(known)) return id;
  }
  return tokenizer.configured_end_of_text();
}

}  // namespace caravan::cli
