// The text to go on from, where it is read instead of given: `generate --prompt -`.
#pragma once

#include <cstddef>
#include <string>

#include "common/result.h"

namespace caravan::cli {

inline constexpr std::size_t kLongestPrompt = std::size_t{1} << 20;

// path: of a text, - is standard input. Without the new line at its end, as a shell's $(...) has it, so that
// `echo TEXT |` gives what `--prompt TEXT` does. Errors name the option (exit code 2).
Result<std::string> read_prompt(const std::string& path);

}  // namespace caravan::cli
