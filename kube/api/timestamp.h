// Times as Kubernetes writes them: RFC 3339 in UTC, with microseconds (MicroTime); and as HTTP does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace caravan::kube {

std::string to_timestamp(Clock::WallTime time);
// Any fraction and any offset; nothing when `text` is no time stamp. Times before 1970 count as its
// begin, times after 2255 as that year.
std::optional<Clock::WallTime> parse_timestamp(std::string_view text);
// RFC 9110, 5.6.7, in whole seconds: "Tue, 14 Nov 2023 22:13:20 GMT". Years within the same bounds.
std::optional<Clock::WallTime> parse_http_date(std::string_view text);

}  // namespace caravan::kube
