// The processors that this process may use: those that its scheduler mask allows (taskset, a cpuset), and of
// their time as much as the control groups above it give, of version 1 or 2.
//
// What others leave idle at the moment does not count, so that whoever asks hears the same every time.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace caravan {

// By number, in an order in which neighbours share most: a core, then a package with its memory. `root` is
// where /sys is.
std::vector<int> allowed_processors(const std::filesystem::path& root = "/");

// The smallest limit of time, in processors; none where there is no limit. `root` is where /proc and /sys
// are.
std::optional<double> processor_quota(const std::filesystem::path& root = "/");

// How many a program should take: at least 1.
int usable_processors();

// Cuts them into so many parts, as equal as possible, of neighbours each.
std::vector<std::vector<int>> share_out(const std::vector<int>& processors, int parts);

}  // namespace caravan
