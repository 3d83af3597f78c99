#include "common/schema/message_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "common/json.h"
#include "common/utf8.h"

namespace caravan::schema {
namespace {

constexpr std::size_t kMaximumQuotedBytes = 60;
constexpr std::size_t kMaximumNameBytes = 64;

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Levenshtein, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row.back();
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaximumNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '/' || c == '.';
         });
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + std::max<std::size_t>(utf8_sequence_length(text.substr(end)), 1);
    if (next > kMaximumQuotedBytes) return json_string(fmt::format("{}...", text.substr(0, end)));
    end = next;
  }
  return json_string(text);
}

std::string child_path(std::string_view path, std::string_view name) {
  const std::string safe = is_plain_name(name) ? std::string(name) : in_quotes(name);
  return path.empty() ? safe : fmt::format("{}.{}", path, safe);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::optional<std::string> closest_match(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kMaximumNameBytes) return std::nullopt;
  const std::string wanted = folded(name);
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::string offered = folded(candidate);
    const std::size_t distance = edit_distance(wanted, offered);
    const std::size_t tolerance = (std::max(wanted.size(), offered.size()) + 1) / 3;
    if (distance > tolerance || (best && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace caravan::schema
