#include "cli/generate/stop_tokens.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/data/end_of_text.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kEndOfTurn = "<|eot_id|>";  // of a conversation with Llama 3

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
  for (const std::string_view name : kEndsOfText)
    if (const auto id = tokenizer.id_of(name)) tokens.push_back(*id);
  if (const auto id = tokenizer.id_of(kEndOfTurn)) tokens.push_back(*id);
  return tokens;
}

}  // namespace caravan::cli
