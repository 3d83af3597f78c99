// What tokenizers of Hugging Face consist of, and what generation takes its end of text from: files that go
// on from a model's folder into checkpoints and exports, since they are needed wherever the weights go.
#pragma once

#include <array>
#include <string_view>

namespace caravan::checkpoint {

// A tokenizer has one of the first two.
inline constexpr std::array<std::string_view, 9> kTokenizerFiles = {"tokenizer.json",
                                                                    "tokenizer.model",
                                                                    "tokenizer_config.json",
                                                                    "special_tokens_map.json",
                                                                    "added_tokens.json",
                                                                    "vocab.json",
                                                                    "merges.txt",
                                                                    "chat_template.jinja",
                                                                    "generation_config.json"};

}  // namespace caravan::checkpoint
