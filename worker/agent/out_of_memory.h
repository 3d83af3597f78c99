// How often the kernel has killed a process of this container, or of this machine, for memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::agent {

// The number after the word `oom_kill` in a statistics file of the kernel.
std::optional<std::int64_t> parse_oom_kills(std::string_view text);

// Of the cgroup of this process (version 2 or 1) where it counts, else of the machine.
std::optional<std::int64_t> read_oom_kills();

}  // namespace caravan::agent
