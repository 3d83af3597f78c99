#include "kube/api/timestamp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace caravan::kube {
namespace {

using std::chrono::microseconds;

constexpr std::time_t kLatestSecond = 9'000'000'000;  // in the year 2255

// What follows the seconds: ".123456789Z", "+02:00"; nothing when it is neither.
std::optional<microseconds> fraction_minus_offset(std::string_view rest) {
  microseconds fraction{0};
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    for (microseconds digit{100'000}; !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
         digit /= 10) {
      fraction += digit * (rest.front() - '0');
      rest.remove_prefix(1);
    }
  }
  if (rest == "Z" || rest == "z") return fraction;
  int hours = 0;
  int minutes = 0;
  const std::string offset(rest);
  if (offset.size() != 6 || std::sscanf(offset.c_str() + 1, "%2d:%2d", &hours, &minutes) != 2)
    return std::nullopt;
  const microseconds east = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  if (offset.front() == '+') return fraction - east;
  if (offset.front() == '-') return fraction + east;
  return std::nullopt;
}

// Of UTC, within what nanoseconds can count, so that differences and sums can, too.
std::optional<Clock::WallTime> parse_utc(std::string_view text, const char* format) {
  std::tm utc{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), format, &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return Clock::WallTime(std::chrono::seconds(std::clamp<std::time_t>(timegm(&utc), 0, kLatestSecond)));
}

}  // namespace

std::string to_timestamp(Clock::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t since_epoch = seconds.time_since_epoch().count();
  std::tm utc{};
  gmtime_r(&since_epoch, &utc);
  std::array<char, 32> date{};
  const std::size_t length = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  const auto fraction = std::chrono::duration_cast<microseconds>(time - seconds);
  return fmt::format("{}.{:06}Z", std::string_view(date.data(), length), fraction.count());
}

std::optional<Clock::WallTime> parse_timestamp(std::string_view text) {
  constexpr std::size_t kToTheSecond = 19;
  if (text.size() <= kToTheSecond) return std::nullopt;
  const auto seconds = parse_utc(text.substr(0, kToTheSecond), "%Y-%m-%dT%H:%M:%S");
  const auto rest = fraction_minus_offset(text.substr(kToTheSecond));
  if (!seconds || !rest) return std::nullopt;
  return *seconds + *rest;
}

std::optional<Clock::WallTime> parse_http_date(std::string_view text) {
  return parse_utc(text, "%a, %d %b %Y %H:%M:%S GMT");
}

}  // namespace caravan::kube
