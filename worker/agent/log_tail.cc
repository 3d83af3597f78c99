#include "worker/agent/log_tail.h"

#include <algorithm>
#include <fstream>

#include "common/utf8.h"

namespace caravan::agent {
namespace {

constexpr std::streamoff kTailBytes = 16'384;

// Cut to the limit, with '?' for bytes that are not UTF-8 and for control characters.
std::string clean(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::size_t length = utf8_sequence_length(line);
    if (text.size() + std::max<std::size_t>(length, 1) > kMaxLogLineBytes) break;
    const bool printable =
        length > 1 || (length == 1 && (static_cast<unsigned char>(line[0]) >= 0x20 || line[0] == '\t'));
    text += printable ? line.substr(0, length) : std::string_view("?");
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace

std::vector<std::string> last_log_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const bool starts_within_a_line = size > kTailBytes;
  file.seekg(starts_within_a_line ? size - kTailBytes : 0);
  std::vector<std::string> lines;
  std::string line;
  if (starts_within_a_line) std::getline(file, line);
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(clean(line));
  }
  if (lines.size() > kMaxLogLines) lines.erase(lines.begin(), lines.end() - kMaxLogLines);
  return lines;
}

}  // namespace caravan::agent
