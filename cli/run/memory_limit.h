// How much memory a process of this machine may take: the smallest limit of its control group and of the
// groups above it, of version 1 or 2, and what the machine has.
//
// What is free at the moment does not count, so that `plan` and `run` say the same every time. Fails when the
// machine does not say what it has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/result.h"

namespace caravan::cli {

// `root` is where /proc and /sys are.
Result<int64_t> memory_limit(const std::filesystem::path& root = "/");

// A line `max`, or one of a version 1 group without a limit, is a number that no machine reaches, or none.
std::optional<int64_t> parse_limit(std::string_view text);

// MemTotal of /proc/meminfo's text.
std::optional<int64_t> total_memory(std::string_view meminfo);

}  // namespace caravan::cli
