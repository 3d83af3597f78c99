#include "cli/data/tokenizer_json.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "cli/data/tokenizer_config.h"
#include "common/file_contents.h"

namespace caravan::cli {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 30;
constexpr const char* kRemedy = "give a tokenizer.json of Hugging Face, or byte";

// Takes a text that the library left.
std::string taken(char* message) {
  std::string text = message == nullptr ? "unknown error" : message;
  caravan_string_free(message);
  return text;
}

// -1 is no token.
std::optional<uint32_t> known(int64_t id) {
  return id < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(id));
}

}  // namespace

TokenizerJson::TokenizerJson(std::string path, Handle handle)
    : path_(std::move(path)),
      handle_(std::move(handle)),
      vocabulary_(static_cast<int64_t>(caravan_tokenizer_vocabulary(handle_.get()))) {}

Result<TokenizerJson> TokenizerJson::open(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "tokenizer.json").string() : path;
  const Result<std::string> json = file_within(file, kLargestFile);
  if (!json) return bad_input(fmt::format("{}; {}", json.error().message, kRemedy));
  char* error = nullptr;
  Handle handle(caravan_tokenizer_load(json->data(), json->size(), &error));
  if (!handle) {
    return bad_input(fmt::format("{}: not a tokenizer: {}; {}", file, taken(error), kRemedy));
  }
  return TokenizerJson(file, std::move(handle));
}

Result<std::vector<data::Token>> TokenizerJson::encode(std::string_view text) const {
  char* error = nullptr;
  size_t count = 0;
  CaravanToken* encoded = caravan_tokenizer_encode(handle_.get(), text.data(), text.size(), &count, &error);
  if (encoded == nullptr) return bad_input(fmt::format("{}: cannot tokenize: {}", path_, taken(error)));
  std::vector<data::Token> tokens;
  tokens.reserve(count);
  for (const CaravanToken& token : std::span(encoded, count))
    tokens.push_back({.id = token.id, .begin = token.begin});
  caravan_tokens_free(encoded, count);
  return tokens;
}

Result<std::string> TokenizerJson::decode(std::span<const uint32_t> ids) const {
  char* error = nullptr;
  char* text = caravan_tokenizer_decode(handle_.get(), ids.data(), ids.size(), &error);
  if (text == nullptr) return bad_input(fmt::format("{}: cannot decode: {}", path_, taken(error)));
  return taken(text);
}

std::optional<uint32_t> TokenizerJson::id_of(std::string_view token) const {
  return known(caravan_tokenizer_token_id(handle_.get(), token.data(), token.size()));
}

std::optional<uint32_t> TokenizerJson::special_id_of(std::string_view token) const {
  return known(caravan_tokenizer_special_token_id(handle_.get(), token.data(), token.size()));
}

Result<std::optional<uint32_t>> TokenizerJson::configured_end_of_text() const {
  const std::string config = tokenizer_config_of(path_);
  const Result<std::string> token = configured_eos_token(config);
  if (!token) return tl::unexpected(token.error());
  if (token->empty()) return std::nullopt;
  if (const std::optional<uint32_t> id = id_of(*token)) return id;
  return bad_input(fmt::format("{}: eos_token: the tokenizer has no token {}", config, *token));
}

}  // namespace caravan::cli
