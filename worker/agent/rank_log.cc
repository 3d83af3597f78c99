#include "worker/agent/rank_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/readable_bytes.h"
#include "common/utf8.h"

namespace caravan::agent {
namespace {

constexpr std::streamoff kTailBytes = 16'384;
constexpr std::size_t kMaxFollowedLineBytes = 4096;

// Cut to `most_bytes`, with '?' for bytes that are not UTF-8 and for control characters.
std::string clean(std::string_view line, std::size_t most_bytes) {
  std::string text;
  while (!line.empty()) {
    const std::size_t length = utf8_sequence_length(line);
    const std::string_view character = line.substr(0, std::max<std::size_t>(length, 1));
    if (text.size() + character.size() > most_bytes) break;
    text += length > 0 && !is_control_character(character) ? character : std::string_view("?");
    line.remove_prefix(character.size());
  }
  return text;
}

// Empty lines are left out.
void add_line(const std::string& line, std::size_t most_bytes, std::vector<std::string>& lines) {
  if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(clean(line, most_bytes));
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
  while (std::getline(file, line)) add_line(line, kMaxLogLineBytes, lines);
  if (lines.size() > kMaxLogLines) lines.erase(lines.begin(), lines.end() - kMaxLogLines);
  return lines;
}

LogFollower::LogFollower(std::string path, std::optional<std::int64_t> kept_bytes)
    : path_(std::move(path)),
      kept_bytes_(kept_bytes),
      file_(open(path_.c_str(), (kept_bytes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

std::vector<std::string> LogFollower::take(bool ended, std::chrono::steady_clock::time_point now) {
  std::vector<std::string> lines;
  if (!ended && looked_at_ && now - *looked_at_ < kBetweenLooks) return lines;
  looked_at_ = now;
  struct stat file {};
  if (!file_ || fstat(file_.get(), &file) != 0) return lines;
  if (file.st_size < offset_) offset_ = given_back_ = 0;  // somebody has cut it
  if (file.st_size == offset_) return lines;
  const std::int64_t skipped = std::max<std::int64_t>(file.st_size - kMaxFollowedBytes - offset_, 0);
  if (skipped > 0)
    lines.push_back(fmt::format("... {} of its log are in {} only ...", readable_bytes(skipped), path_));
  std::string text = read(offset_ + skipped);
  if (!ended) text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  offset_ += skipped + static_cast<std::int64_t>(text.size());
  if (kept_bytes_) give_back();
  if (skipped > 0) text.erase(0, text.find('\n'));  // the end of a line whose beginning is not here
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) add_line(line, kMaxFollowedLineBytes, lines);
  return lines;
}

std::string LogFollower::read(std::int64_t from) const {
  std::string text(kMaxFollowedBytes, '\0');
  const ssize_t count = pread(file_.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

// The file keeps its length, so whoever writes to it does not notice.
void LogFollower::give_back() {
  const std::int64_t bytes = offset_ - *kept_bytes_;
  if (bytes < given_back_ + kLogBytesGivenBack) return;
  fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes);
  given_back_ = bytes;
}

}  // namespace caravan::agent
