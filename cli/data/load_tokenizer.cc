#include "cli/data/load_tokenizer.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <filesystem>
#include <string_view>

#include "cli/data/end_of_text.h"
#include "cli/data/tokenizer_json.h"
#include "common/file_contents.h"
#include "common/json.h"

namespace caravan::cli {

namespace fs = std::filesystem;

namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr std::size_t kLargestConfig = std::size_t{16} << 20;

// Empty where there is none. Older versions of transformers write an object for a token.
std::string eos_token_in(const Struct& config) {
  const auto found = config.fields().find("eos_token");
  if (found == config.fields().end()) return {};
  const Value& token = found->second;
  if (!token.has_struct_value()) return token.string_value();
  const auto content = token.struct_value().fields().find("content");
  return content == token.struct_value().fields().end() ? "" : content->second.string_value();
}

// As the tokenizer_config.json beside the tokenizer has it, which need not be there.
Result<std::optional<uint32_t>> configured_end_of_text(const TokenizerJson& tokenizer) {
  const fs::path file = fs::path(tokenizer.path()).replace_filename("tokenizer_config.json");
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  const Result<std::string> text = file_within(file.string(), kLargestConfig);
  const auto wrong = [&](const std::string& what) {
    return bad_input(fmt::format("{}; give --end-of-text a token of the tokenizer, or none", what));
  };
  if (!text) return wrong(text.error().message);
  const Result<Struct> config = from_json<Struct>(*text);
  if (!config) return wrong(fmt::format("{}: no JSON object: {}", file.string(), config.error().message));
  const std::string token = eos_token_in(*config);
  if (token.empty()) return std::nullopt;
  const std::optional<uint32_t> id = tokenizer.id_of(token);
  if (!id) return wrong(fmt::format("{}: eos_token: the tokenizer has no token {}", file.string(), token));
  return id;
}

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
  return configured_end_of_text(tokenizer);
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
