#include "cli/data/tokenizer_config.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "common/file_contents.h"
#include "common/json.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Struct;
using google::protobuf::Value;

constexpr std::size_t kLargestConfig = std::size_t{16} << 20;

// Older versions of transformers write an object for a token.
std::string eos_token_in(const Struct& config) {
  const auto found = config.fields().find("eos_token");
  if (found == config.fields().end()) return {};
  const Value& token = found->second;
  if (!token.has_struct_value()) return token.string_value();
  const auto content = token.struct_value().fields().find("content");
  return content == token.struct_value().fields().end() ? "" : content->second.string_value();
}

}  // namespace

std::string tokenizer_config_of(const std::string& tokenizer) {
  return fs::path(tokenizer).replace_filename("tokenizer_config.json").string();
}

Result<std::string> configured_eos_token(const std::string& config) {
  std::error_code ignored;
  if (!fs::exists(config, ignored)) return std::string();
  const Result<std::string> text = file_within(config, kLargestConfig);
  if (!text) return bad_input(text.error().message);
  const Result<Struct> object = from_json<Struct>(*text);
  if (!object) return bad_input(fmt::format("{}: no JSON object: {}", config, object.error().message));
  return eos_token_in(*object);
}

}  // namespace caravan::cli
