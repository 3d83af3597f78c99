#include "cli/cluster/durations.h"

#include <fmt/format.h>

#include <charconv>

#include "common/schema/message_text.h"

namespace caravan::cli {
namespace {

constexpr int kLongest = 365 * 24 * 3600;

// 0: no unit.
int seconds_of(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return unit == "d" ? 24 * 3600 : 0;
}

}  // namespace

Result<std::chrono::seconds> parse_duration(const std::string& text, const std::string& option) {
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const int unit = seconds_of({rest, end});
  if (error != std::errc{} || count <= 0 || unit == 0 || count > kLongest / unit) {
    return bad_input(fmt::format("{}: expected a duration such as 90s, 15m, 2h or 1d, got {}", option,
                                 schema::in_quotes(text)));
  }
  return std::chrono::seconds(std::int64_t{count} * unit);
}

}  // namespace caravan::cli
