#include "cli/generate/stop_tokens.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace caravan::cli {
namespace {

// Llama 3 ends texts with the first and turns of a conversation with the second; GPT-2 and Qwen, Llama 2,
// Gemma.
constexpr std::array<std::string_view, 5> kKnownNames{"<|end_of_text|>", "<|eot_id|>", "<|endoftext|>",
                                                      "</s>", "<eos>"};

}  // namespace

Result<std::vector<int64_t>> stop_tokens(const std::vector<std::string>& named,
                                         const std::vector<int64_t>& of_folder,
                                         const data::Tokenizer& tokenizer) {
  std::vector<int64_t> tokens;
  if (named == std::vector<std::string>{"none"}) return tokens;
  for (const std::string& name : named) {
    const auto id = tokenizer.id_of(name);
    if (!id) {
      return bad_input(fmt::format(
          "--end-of-text: the tokenizer has no token {}; give those that it has, or none alone", name));
    }
    tokens.push_back(*id);
  }
  if (!named.empty()) return tokens;
  if (!of_folder.empty()) return of_folder;
  for (const std::string_view name : kKnownNames)
    if (const auto id = tokenizer.id_of(name)) tokens.push_back(*id);
  return tokens;
}

}  // namespace caravan::cli
