#include "cli/generate/stop_tokens.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/data/end_of_text.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kEndOfTurn = "<|eot_id|>";  // of a conversation with Llama 3

Result<std::vector<int64_t>> usual_tokens(const data::Tokenizer& tokenizer) {
  std::vector<int64_t> tokens;
  for (const std::string_view name : kEndsOfText)
    if (const auto id = tokenizer.special_id_of(name)) tokens.push_back(*id);
  if (tokens.empty()) {
    const auto configured = tokenizer.configured_end_of_text();
    if (!configured) {
      return bad_input(configured.error().message +
                       "; give --end-of-text those tokens that end a text, or none alone");
    }
    if (*configured) tokens.push_back(**configured);
  }
  if (const auto id = tokenizer.special_id_of(kEndOfTurn)) tokens.push_back(*id);
  return tokens;
}

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
  return usual_tokens(tokenizer);
}

}  // namespace caravan::cli
