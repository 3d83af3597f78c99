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

// Levenshtein's, and two neighbours that changed places count once (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // the row before the last one
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row{i};
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row.push_back(std::min({last[j] + 1, row[j - 1] + 1, substituted}));
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

// Words of up to five letters that differ in two of them are mostly two words.
std::size_t tolerance(std::size_t letters) {
  return letters <= 5 ? letters / 3 : (letters + 1) / 3;
}

// How far a candidate is from what was written; absent: too far.
std::optional<std::size_t> distance_of(std::string_view wanted, std::string_view offered) {
  constexpr std::size_t kShortestBeginning = 3;
  const std::size_t distance = edit_distance(wanted, offered);
  if (distance == 0) return 0;
  if (wanted.size() >= kShortestBeginning && offered.starts_with(wanted)) return 1;
  if (distance > tolerance(std::max(wanted.size(), offered.size()))) return std::nullopt;
  return distance + 1;  // behind what was only not written to its end
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
  std::optional<std::size_t> best_distance;
  for (const std::string& candidate : candidates) {
    const auto distance = distance_of(wanted, folded(candidate));
    if (!distance || (best_distance && *distance >= *best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace caravan::schema
