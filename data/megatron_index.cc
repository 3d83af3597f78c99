#include "data/megatron_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace caravan::data {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr int64_t kHeaderBytes = 34;
constexpr size_t kPieceEntries = 8192;

struct Header {
  TokenType type{};
  int64_t sequences = 0;
  int64_t document_entries = 0;

  int64_t lengths_at() const { return kHeaderBytes; }
  int64_t positions_at() const { return lengths_at() + sequences * 4; }
  int64_t documents_at() const { return positions_at() + sequences * 8; }
};

std::optional<TokenType> token_type_of(uint8_t code) {
  switch (code) {
    case 1:
      return TokenType::kUint8;
    case 2:
      return TokenType::kInt8;
    case 3:
      return TokenType::kInt16;
    case 4:
      return TokenType::kInt32;
    case 5:
      return TokenType::kInt64;
    case 8:
      return TokenType::kUint16;
    default:
      return std::nullopt;
  }
}

template <typename T>
T field(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
  return value;
}

tl::unexpected<Error> broken(const InputFile& index, std::string_view what) {
  return bad_input(fmt::format("{}: {}; copy or tokenize the dataset again", index.path(), what));
}

Status check_size(const InputFile& index, uint64_t sequences, uint64_t document_entries) {
  const auto entries_bytes = static_cast<uint64_t>(index.size() - kHeaderBytes);
  // Each count alone must fit, so that the sum cannot overflow.
  const bool fits = sequences <= entries_bytes / 12 && document_entries <= entries_bytes / 8;
  if (fits && sequences * 12 + document_entries * 8 == entries_bytes) return {};
  return broken(
      index,
      fmt::format("the header says {} sequences and {} document entries, which does not agree with the "
                  "file's size of {} bytes",
                  sequences, document_entries, index.size()));
}

Result<Header> read_header(const InputFile& index) {
  if (index.size() < kHeaderBytes)
    return broken(index, fmt::format("truncated: {} bytes, the header alone has 34", index.size()));
  std::array<std::byte, kHeaderBytes> bytes{};
  if (Status read = index.read(0, bytes); !read) return tl::unexpected(read.error());

  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return broken(index, "not a Megatron index (it does not begin with MMIDIDX)");
  }
  if (const auto version = field<uint64_t>(bytes, 9); version != 1) {
    return broken(index, fmt::format("has version {}, expected 1", version));
  }
  const auto code = field<uint8_t>(bytes, 17);
  const std::optional<TokenType> type = token_type_of(code);
  if (!type)
    return broken(index, fmt::format("has token type {}, expected an integer type (1 to 5, or 8)", code));
  const auto sequences = field<uint64_t>(bytes, 18);
  const auto document_entries = field<uint64_t>(bytes, 26);
  if (Status size = check_size(index, sequences, document_entries); !size)
    return tl::unexpected(size.error());
  return Header{.type = *type,
                .sequences = static_cast<int64_t>(sequences),
                .document_entries = static_cast<int64_t>(document_entries)};
}

// Calls visit(first entry of the piece, entries) for an array of the index, piece by piece.
template <typename T, typename Visit>
Status for_each_piece(const InputFile& index, int64_t offset, int64_t count, Visit visit) {
  std::vector<T> buffer(std::min<size_t>(kPieceEntries, static_cast<size_t>(count)));
  for (int64_t first = 0; first < count; first += static_cast<int64_t>(buffer.size())) {
    const auto piece = std::span(buffer).first(std::min(buffer.size(), static_cast<size_t>(count - first)));
    if (Status read =
            index.read(offset + first * static_cast<int64_t>(sizeof(T)), std::as_writable_bytes(piece));
        !read) {
      return read;
    }
    if (Status visited = visit(first, std::span<const T>(piece)); !visited) return visited;
  }
  return {};
}

// Lengths and positions side by side: each sequence begins where the one before it ended. Gives the bytes in
// all.
Result<int64_t> check_sequences(const InputFile& index, const Header& header, const InputFile& tokens) {
  const int64_t width = bytes_per_token(header.type);
  std::vector<int64_t> positions(kPieceEntries);
  int64_t end = 0;
  const auto check = [&](int64_t first, std::span<const int32_t> lengths) -> Status {
    const auto at = std::span(positions).first(lengths.size());
    if (Status read = index.read(header.positions_at() + first * 8, std::as_writable_bytes(at)); !read)
      return read;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t sequence = first + static_cast<int64_t>(i);
      if (lengths[i] < 0)
        return broken(index, fmt::format("sequence {} has length {}", sequence, lengths[i]));
      if (at[i] != end) {
        return broken(index,
                      fmt::format("sequence {} begins at byte {}, expected {} (the end of the one before it)",
                                  sequence, at[i], end));
      }
      end += lengths[i] * width;  // at most the file's size so far plus 2³⁴: no overflow
      if (end > tokens.size()) {
        return broken(index, fmt::format("sequence {} ends at byte {}, but {} has {} bytes", sequence, end,
                                         tokens.path(), tokens.size()));
      }
    }
    return {};
  };
  if (Status checked = for_each_piece<int32_t>(index, header.lengths_at(), header.sequences, check);
      !checked) {
    return tl::unexpected(checked.error());
  }
  return end;
}

Status check_documents(const InputFile& index, const Header& header) {
  int64_t previous = 0;
  return for_each_piece<int64_t>(
      index, header.documents_at(), header.document_entries,
      [&](int64_t first, std::span<const int64_t> entries) -> Status {
        for (size_t i = 0; i < entries.size(); ++i) {
          if (entries[i] < previous || entries[i] > header.sequences) {
            return broken(
                index, fmt::format("document entry {} is {}, expected {} to {}",
                                   first + static_cast<int64_t>(i), entries[i], previous, header.sequences));
          }
          previous = entries[i];
        }
        return {};
      });
}

}  // namespace

Result<TokenLayout> read_megatron_index(const std::string& index_path, const InputFile& tokens) {
  const Result<InputFile> index = InputFile::open(index_path);
  if (!index) return tl::unexpected(index.error());
  const Result<Header> header = read_header(*index);
  if (!header) return tl::unexpected(header.error());
  const Result<int64_t> bytes = check_sequences(*index, *header, tokens);
  if (!bytes) return tl::unexpected(bytes.error());
  if (*bytes != tokens.size()) {
    return broken(*index, fmt::format("describes {} bytes of tokens, but {} has {}", *bytes, tokens.path(),
                                      tokens.size()));
  }
  if (*bytes == 0)
    return bad_input(fmt::format("{}: holds no tokens; tokenize some text into it", tokens.path()));
  if (Status documents = check_documents(*index, *header); !documents)
    return tl::unexpected(documents.error());
  return TokenLayout{
      .format = TokenFormat::kMegatron,
      .type = header->type,
      .offset = 0,
      .tokens = *bytes / bytes_per_token(header->type),
      .documents = std::max<int64_t>(header->document_entries - 1, 0)};  // the last entry is the end
}

}  // namespace caravan::data
