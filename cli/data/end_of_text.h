// What the tokens that end a document are called in well-known tokenizers: Llama 3, GPT-2 and Qwen, Llama 2,
// Gemma.
#pragma once

#include <array>
#include <string_view>

namespace caravan::cli {

inline constexpr std::array<std::string_view, 4> kEndsOfText{"<|end_of_text|>", "<|endoftext|>", "</s>",
                                                             "<eos>"};

}  // namespace caravan::cli
