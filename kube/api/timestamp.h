// Times as Kubernetes writes them: RFC 3339 in UTC, with microseconds (MicroTime).
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

}  // namespace caravan::kube
