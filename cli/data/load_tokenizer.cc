#include "cli/data/load_tokenizer.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/data/end_of_text.h"
#include "cli/data/tokenizer_json.h"

namespace caravan::cli {
namespace {

Result<std::optional<uint32_t>> find_end_of_text(const TokenizerJson& tokenizer, const std::string& name,
                                                 const std::string& end_of_text) {
  if (end_of_text == "none") return std::nullopt;
  if (!end_of_text.empty()) {
    const std::optional<uint32_t> id = tokenizer.id_of(end_of_text);
    if (id) return id;
    return bad_input(
        fmt::format("--end-of-text: {} has no token {}; give one that it has, or none", name, end_of_text));
  }
  for (const std::string_view known : kEndsOfText) {
    if (const std::optional<uint32_t> id = tokenizer.id_of(known)) return id;
  }
  return std::nullopt;
}

}  // namespace

Result<LoadedTokenizer> load_tokenizer(const std::string& name, const std::string& end_of_text) {
  if (name == "byte") {
    if (end_of_text.empty() || end_of_text == "none") {
      return LoadedTokenizer{.tokenizer = std::make_unique<data::ByteTokenizer>(),
                             .end_of_text = std::nullopt};
    }
    return bad_input(
        "--end-of-text: the byte tokenizer has no such token; leave the option out, or give none");
  }
  Result<TokenizerJson> tokenizer = TokenizerJson::open(name);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const Result<std::optional<uint32_t>> end = find_end_of_text(*tokenizer, name, end_of_text);
  if (!end) return tl::unexpected(end.error());
  return LoadedTokenizer{.tokenizer = std::make_unique<TokenizerJson>(std::move(*tokenizer)),
                         .end_of_text = *end};
}

}  // namespace caravan::cli
