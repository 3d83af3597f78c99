#include "cli/data/load_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/data/end_of_text.h"
#include "cli/data/tokenizer_json.h"
#include "common/schema/message_text.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kNone = "none";
constexpr const char* kByte = "byte";

Result<LoadedTokenizer> byte_tokenizer(const std::string& end_of_text, const std::string& begin_of_text) {
  const auto refused = [](std::string_view option) {
    return bad_input(
        fmt::format("{}: the byte tokenizer has no such token; leave the option out, or give none", option));
  };
  if (!end_of_text.empty() && end_of_text != kNone) return refused("--end-of-text");
  if (begin_of_text != kNone) return refused("--begin-of-text");
  return LoadedTokenizer{.tokenizer = std::make_unique<data::ByteTokenizer>()};
}

// By a path that leads nowhere.
std::string probably_meant(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return "";
  if (schema::closest_match(name, {kByte})) return fmt::format("; did you mean {}?", kByte);
  const bool is_a_model = std::ranges::count(name, '/') == 1 && !name.ends_with(".json");
  return is_a_model ? "; it is a path, and no model is downloaded by its name" : "";
}

Result<std::optional<uint32_t>> named_token(const TokenizerJson& tokenizer, const std::string& name,
                                            std::string_view option, const std::string& token) {
  if (token == kNone) return std::nullopt;
  if (const std::optional<uint32_t> id = tokenizer.id_of(token)) return id;
  return bad_input(fmt::format("{}: {} has no token {}; give one that it has, or none", option, name, token));
}

Result<std::optional<uint32_t>> its_end_of_text(const TokenizerJson& tokenizer) {
  return find_end_of_text(tokenizer).map_error([](const Error& wrong) {
    return Error{wrong.message + "; give --end-of-text a token of the tokenizer, or none", wrong.code};
  });
}

}  // namespace

Result<LoadedTokenizer> load_tokenizer(const std::string& name, const std::string& end_of_text,
                                       const std::string& begin_of_text) {
  if (name == kByte) return byte_tokenizer(end_of_text, begin_of_text);
  Result<TokenizerJson> tokenizer = TokenizerJson::open(name);
  if (!tokenizer)
    return tl::unexpected(Error{tokenizer.error().message + probably_meant(name), tokenizer.error().code});
  const auto end = end_of_text.empty() ? its_end_of_text(*tokenizer)
                                       : named_token(*tokenizer, name, "--end-of-text", end_of_text);
  if (!end) return tl::unexpected(end.error());
  const auto begin = named_token(*tokenizer, name, "--begin-of-text", begin_of_text);
  if (!begin) return tl::unexpected(begin.error());
  return LoadedTokenizer{.tokenizer = std::make_unique<TokenizerJson>(std::move(*tokenizer)),
                         .begin_of_text = *begin,
                         .end_of_text = *end};
}

}  // namespace caravan::cli
