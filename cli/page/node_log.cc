#include "cli/page/node_log.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "operator/view/pod_log.h"

namespace caravan::cli {
namespace {

using In = NodeLogPlace::In;

std::string read_from(const std::filesystem::path& path, std::uint64_t offset, std::size_t most) {
  std::string text(most, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  return missing ? 0 : size;
}

// With its end, as far as it has one.
std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
  rest.remove_prefix(line.size());
  return line;
}

}  // namespace

// Nothing for a line of others.
std::optional<std::string_view> NodeLog::text_of(std::string_view line) const {
  return rank_ ? controller::text_of_rank(line, *rank_) : std::optional(line);
}

// Whose a line is stands in its first piece.
void NodeLog::take(std::string_view piece, std::string& text) {
  const auto shown = at_.in == In::kNoLine  ? text_of(piece)
                     : at_.in == In::kGiven ? std::optional(piece)
                                            : std::nullopt;
  text += shown.value_or("");
  at_.offset += piece.size();
  at_.in = piece.ends_with('\n') ? In::kNoLine : shown ? In::kGiven : In::kPassedOver;
}

void NodeLog::seek_last(int lines) {
  const std::uint64_t size = size_of(file_);
  const std::uint64_t first = size > kTailBytes ? size - kTailBytes : 0;
  const std::string tail = read_from(file_, first, kTailBytes);
  std::string_view rest = tail;
  if (first > 0 && !rest.empty()) take_line(rest);  // its beginning is cut off
  std::vector<std::uint64_t> begins;
  while (!rest.empty()) {
    const std::uint64_t begin = first + (tail.size() - rest.size());
    if (text_of(take_line(rest))) begins.push_back(begin);
  }
  const auto wanted = std::min(begins.size(), static_cast<std::size_t>(std::max(0, lines)));
  at_ = {.offset = wanted == 0 ? first + tail.size() : begins[begins.size() - wanted]};
}

NodeLog::Part NodeLog::next(bool is_whole) {
  const std::string read = read_from(file_, at_.offset, kPartBytes);
  const std::size_t end = read.rfind('\n');
  const bool is_long_line = read.size() == kPartBytes;
  std::string_view lines = read;
  if (end != std::string::npos)
    lines = lines.substr(0, end + 1);
  else if (!is_whole && !is_long_line)
    lines = {};
  Part part{.is_end = lines.empty()};
  while (!lines.empty()) take(take_line(lines), part.text);
  return part;
}

}  // namespace caravan::cli
