#include "data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "data/llm_c_format.h"
#include "data/megatron_index.h"
#include "data/read_error.h"

namespace caravan::data {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path with_ending(const std::string& path, const char* ending) {
  return fs::path(path).replace_extension(ending);
}

// The file that holds the tokens, whichever file of a Megatron pair was named.
std::string tokens_path(const std::string& path) {
  if (fs::path(path).extension() == ".idx") return with_ending(path, ".bin");
  if (!is_there(path) && is_there(path + ".bin") && is_there(path + ".idx")) return path + ".bin";
  return path;
}

Result<TokenLayout> read_layout(const InputFile& file) {
  if (file.size() == 0)
    return bad_input(fmt::format("{}: is empty; tokenize some text into it", file.path()));
  const Result<bool> llm_c = has_llm_c_magic(file);
  if (!llm_c) return tl::unexpected(llm_c.error());
  if (*llm_c) return read_llm_c_header(file);
  const fs::path index = with_ending(file.path(), ".idx");
  std::error_code error;
  const bool has_index = fs::exists(index, error);
  if (error) return read_error(fmt::format("{}: cannot be looked for", index.string()), error.value());
  if (index != file.path() && has_index) return read_megatron_index(index, file);
  return bad_input(fmt::format(
      "{}: not a token file: it has no llm.c header, and no Megatron index {} stands beside it; make "
      "one with `caravan data tokenize`",
      file.path(), index.filename().string()));
}

template <typename T>
Status read_as(const InputFile& file, int64_t offset, std::span<int64_t> output) {
  std::array<T, 65536 / sizeof(T)> buffer;
  while (!output.empty()) {
    const auto piece = std::span(buffer).first(std::min(buffer.size(), output.size()));
    if (Status read = file.read(offset, std::as_writable_bytes(piece)); !read) return read;
    std::copy(piece.begin(), piece.end(), output.begin());
    output = output.subspan(piece.size());
    offset += static_cast<int64_t>(piece.size_bytes());
  }
  return {};
}

Status read_tokens(const InputFile& file, TokenType type, int64_t offset, std::span<int64_t> output) {
  switch (type) {
    case TokenType::kUint8:
      return read_as<uint8_t>(file, offset, output);
    case TokenType::kInt8:
      return read_as<int8_t>(file, offset, output);
    case TokenType::kUint16:
      return read_as<uint16_t>(file, offset, output);
    case TokenType::kInt16:
      return read_as<int16_t>(file, offset, output);
    case TokenType::kUint32:
      return read_as<uint32_t>(file, offset, output);
    case TokenType::kInt32:
      return read_as<int32_t>(file, offset, output);
    case TokenType::kInt64:
      return read_as<int64_t>(file, offset, output);
  }
  return failure("unknown token type");
}

}  // namespace

Result<TokenFile> TokenFile::open(const std::string& path) {
  Result<InputFile> file = InputFile::open(tokens_path(path));
  if (!file) return tl::unexpected(file.error());
  const Result<TokenLayout> layout = read_layout(*file);
  if (!layout) return tl::unexpected(layout.error());
  return TokenFile(std::move(*file), *layout);
}

Status TokenFile::read(int64_t begin, std::span<int64_t> output, int64_t vocabulary) const {
  const int64_t offset = layout_.offset + begin * bytes_per_token(layout_.type);
  if (Status read = read_tokens(file_, layout_.type, offset, output); !read) return read;
  const auto foreign = std::find_if(output.begin(), output.end(),
                                    [&](int64_t token) { return token < 0 || token >= vocabulary; });
  if (foreign == output.end()) return {};
  const int64_t position = begin + (foreign - output.begin());
  if (*foreign < 0) {
    return bad_input(fmt::format("{}: token {} has id {}, which is no token; copy or tokenize the file again",
                                 path(), position, *foreign));
  }
  return bad_input(fmt::format(
      "{}: token {} has id {}, but the model's vocabulary has ids 0 to {}; tokenize the text with the "
      "model's tokenizer, or set spec.model.vocabSize (beside an architecture, its own vocabSize) to the "
      "size "
      "of the tokenizer's vocabulary",
      path(), position, *foreign, vocabulary - 1));
}

}  // namespace caravan::data
